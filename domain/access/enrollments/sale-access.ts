/**
 * How the access of a sale follows the sale: each change of what it is to be is carried out once, with one fact an
 * enrollment. What an administrator has decided meanwhile stands (ADR 0012).
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

/** What the ends that a cancellation moved were before, by enrollment; null for none. */
export type EndsBefore = Readonly<Record<Id, string | null>>;

/** The enrollments of a purchase or a subscription, which an administrator may have removed since. */
async function enrollmentsOfSale(tx: Transaction, originId: Id): Promise<EnrollmentRow[]> {
  return tx.rows<EnrollmentRow>(sql`SELECT ${enrollmentColumns} FROM ${enrollmentsWithDelivery}
      WHERE enrollment.origin_id = ${originId} AND enrollment.revoked_reason IS DISTINCT FROM 'removal' ORDER BY enrollment.id`);
}

/** Takes what a purchase of its own gave: it was refunded, or turned out to be a charge of a subscription. */
export async function revokeOfPurchase(
  tx: Transaction,
  purchaseId: Id,
  reason: 'refund' | 'cancellation',
  now: Date,
): Promise<void> {
  for (const { id, clubId } of await enrollmentsOfSale(tx, purchaseId)) await revokeAccess(tx, clubId, id, reason, now);
}

/** Gives back what a refund of the purchase took: it turned out to be a partial one. */
export async function restoreOfPurchase(tx: Transaction, purchaseId: Id, now: Date): Promise<void> {
  for (const enrollment of await enrollmentsOfSale(tx, purchaseId))
    if (enrollment.revokedReason === 'refund')
      await change(tx, enrollment, { endsAt: enrollment.endsAt, revokedReason: null }, now);
}

/**
 * Brings the access of a subscription from what it was to be to what it is to be now; where that is the same, nothing is
 * touched. The student's row is held by the caller.
 * @returns what is to be handed over the next time
 */
export async function followTarget(
  tx: Transaction,
  subscriptionId: Id,
  { from, to, endsBefore }: { from: SaleTarget; to: SaleTarget; endsBefore: EndsBefore },
  now: Date,
): Promise<EndsBefore> {
  if (isSame(from, to)) return endsBefore;
  const moved: Record<Id, string | null> = {};
  for (const enrollment of await enrollmentsOfSale(tx, subscriptionId)) {
    const own = ownEndOf(enrollment, from, endsBefore);
    const end = graceOf(to, enrollment, now);
    const endsAt = end !== null && (own === null || own > end) ? end : own;
    if (endsAt !== own) moved[enrollment.id] = own?.toISOString() ?? null;
    await change(tx, enrollment, { endsAt, revokedReason: reasonFor(to, end, enrollment) }, now);
  }
  return moved;
}

function isSame(left: SaleTarget, right: SaleTarget): boolean {
  if (left.kind !== 'canceled' || right.kind !== 'canceled') return left.kind === right.kind;
  return left.periodEnd === right.periodEnd;
}

/** The end that it has without any cancellation. One that is not the cancellation's any more is somebody's decision. */
function ownEndOf({ id, endsAt }: EnrollmentRow, from: SaleTarget, endsBefore: EndsBefore): Date | null {
  const before = endsBefore[id];
  const isOurs =
    from.kind === 'canceled' && from.periodEnd !== null && endsAt?.getTime() === Date.parse(from.periodEnd);
  if (before === undefined || !isOurs) return endsAt;
  return before === null ? null : new Date(before);
}

/** Until when a cancellation leaves the access; null where it does not, or is none. */
function graceOf(to: SaleTarget, { startsAt }: EnrollmentTimes, now: Date): Date | null {
  if (to.kind !== 'canceled' || to.periodEnd === null) return null;
  const end = new Date(to.periodEnd);
  return end > now && end > startsAt ? end : null;
}

/** What an administrator revoked stays revoked. */
function reasonFor(to: SaleTarget, grace: Date | null, { revokedReason }: EnrollmentRow): RevocationReason | null {
  if (revokedReason === 'revocation') return revokedReason;
  if (to.kind === 'refunded') return 'refund';
  return to.kind === 'canceled' && grace === null ? 'cancellation' : null;
}

/** One update and at most one fact: a moved end raises none while the access is revoked. */
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
    const moved = changeOfEnd(before.endsAt, endsAt);
    const details = before.endsAt === null ? undefined : { previousEndsAt: before.endsAt.toISOString() };
    if (moved !== undefined) await recordAccess(tx, moved, after, now, details);
  }
}
