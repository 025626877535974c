/**
 * Keeps the access of a sale equal to the state of the sale. Each change of this state is applied once, with one fact for each enrollment.
 * An administrator's later decision has priority (ADR 0012).
 */
import { Enrollment } from '../../../entities/access/enrollment.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { RevocationReason } from '../../../entities/access/values.ts';
import type { SaleTarget } from '../../../entities/sales/values.ts';
import { changeOfEnd, type EnrollmentTimes } from './enrollments.policy.ts';
import { enrollmentColumns, enrollmentsWithDelivery, recordAccess, type EnrollmentRow } from './rows.ts';
import { revokeAccess } from './enrollments.ts';

/** The end that each enrollment had before a cancellation changed it. Null for an enrollment without an end. */
export type EndsBefore = Readonly<Record<Id, string | null>>;

async function enrollmentsOfSale(tx: Transaction, originId: Id): Promise<EnrollmentRow[]> {
  return tx.rows<EnrollmentRow>(sql`SELECT ${enrollmentColumns} FROM ${enrollmentsWithDelivery}
      WHERE enrollment.origin_id = ${originId} AND enrollment.revoked_reason IS DISTINCT FROM 'removal' ORDER BY enrollment.id`);
}

/** Revokes the access of a purchase that was refunded, or that was later recognized as a charge of a subscription. */
export async function revokeOfPurchase(
  tx: Transaction,
  purchaseId: Id,
  reason: 'refund' | 'cancellation',
  now: Date,
): Promise<void> {
  for (const { id, clubId } of await enrollmentsOfSale(tx, purchaseId)) await revokeAccess(tx, clubId, id, reason, now);
}

/** Restores the access if only a part of the price was refunded after all. */
export async function restoreOfPurchase(tx: Transaction, purchaseId: Id, now: Date): Promise<void> {
  for (const enrollment of await enrollmentsOfSale(tx, purchaseId))
    if (enrollment.revokedReason === 'refund')
      await change(tx, enrollment, { endsAt: enrollment.endsAt, revokedReason: null }, now);
}

/**
 * Changes the access of a subscription from the old target `from` to the new target `to`. The caller holds the lock of the student.
 * @returns the ends to pass as `endsBefore` in the next call
 */
export async function followTarget(
  tx: Transaction,
  subscriptionId: Id,
  { from, to, endsBefore }: { from: SaleTarget; to: SaleTarget; endsBefore: EndsBefore },
  now: Date,
): Promise<EndsBefore> {
  if (isSame(from, to)) return endsBefore;
  const ends: Record<Id, string | null> = {};
  for (const enrollment of await enrollmentsOfSale(tx, subscriptionId)) {
    const endWithoutCancellation = ownEndOf(enrollment, from, endsBefore);
    const end = graceOf(to, enrollment, now);
    const endsAt =
      end !== null && (endWithoutCancellation === null || endWithoutCancellation > end) ? end : endWithoutCancellation;
    if (endsAt !== endWithoutCancellation) ends[enrollment.id] = endWithoutCancellation?.toISOString() ?? null;
    await change(tx, enrollment, { endsAt, revokedReason: reasonFor(to, end, enrollment) }, now);
  }
  return ends;
}

function isSame(one: SaleTarget, other: SaleTarget): boolean {
  if (one.kind !== 'canceled' || other.kind !== 'canceled') return one.kind === other.kind;
  return one.periodEnd === other.periodEnd;
}

/** Returns the end that the access would have without the cancellation. An end that an administrator set stays. */
function ownEndOf({ id, endsAt }: EnrollmentRow, from: SaleTarget, endsBefore: EndsBefore): Date | null {
  const before = endsBefore[id];
  const isOurs =
    from.kind === 'canceled' && from.periodEnd !== null && endsAt?.getTime() === Date.parse(from.periodEnd);
  if (before === undefined || !isOurs) return endsAt;
  return before === null ? null : new Date(before);
}

/**
 * Returns the time until which a canceled subscription still gives access. Null if it gives no access, or if the target is not a
 * cancellation.
 */
function graceOf(to: SaleTarget, { startsAt }: EnrollmentTimes, now: Date): Date | null {
  if (to.kind !== 'canceled' || to.periodEnd === null) return null;
  const end = new Date(to.periodEnd);
  return end > now && end > startsAt ? end : null;
}

/** An enrollment that an administrator revoked stays revoked. */
function reasonFor(to: SaleTarget, grace: Date | null, { revokedReason }: EnrollmentRow): RevocationReason | null {
  if (revokedReason === 'revocation') return revokedReason;
  if (to.kind === 'refunded') return 'refund';
  return to.kind === 'canceled' && grace === null ? 'cancellation' : null;
}

/** Writes one update and at most one fact. If the access is revoked, a changed end records no fact. */
async function change(
  tx: Transaction,
  before: EnrollmentRow,
  { endsAt, revokedReason }: Pick<EnrollmentRow, 'endsAt' | 'revokedReason'>,
  now: Date,
): Promise<void> {
  const revokedAt = revokedReason === null ? null : (before.revokedAt ?? now);
  const after: EnrollmentRow = { ...before, endsAt, revokedAt, revokedReason };
  await tx.manager.update(Enrollment, { id: before.id }, { endsAt, revokedAt, revokedReason, updatedAt: now });
  if (before.revokedAt === null && revokedAt !== null) await recordAccess(tx, 'access.revoked', after, now);
  else if (before.revokedAt !== null && revokedAt === null) await recordAccess(tx, 'access.restored', after, now);
  else if (revokedAt === null) {
    const factType = changeOfEnd(before.endsAt, endsAt);
    const details = before.endsAt === null ? undefined : { previousEndsAt: before.endsAt.toISOString() };
    if (factType !== undefined) await recordAccess(tx, factType, after, now, details && { details });
  }
}
