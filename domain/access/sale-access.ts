/**
 * How the access of a sale follows the sale: a cancellation with a grace, the charge that takes a subscription up again, a
 * refund. What an administrator has decided meanwhile stands (ADR 0012).
 */
import type { Transaction } from '../core/database.ts';
import type { Id } from '../core/ids.ts';
import { enrollmentColumns, enrollmentsWithDelivery, type Enrollment } from './enrollment-rows.ts';
import { moveEnd, restoreAccess, revokeAccess } from './enrollments.ts';

/** The enrollments of a purchase or a subscription, which an administrator may have removed since. */
async function enrollmentsOfSale(tx: Transaction, originId: Id): Promise<Enrollment[]> {
  return tx.query<Enrollment[]>(
    `SELECT ${enrollmentColumns} FROM ${enrollmentsWithDelivery}
      WHERE enrollment.origin_id = $1 AND enrollment.revoked_reason IS DISTINCT FROM 'removal' ORDER BY enrollment.id`,
    [originId],
  );
}

/** Takes what a purchase or a subscription gave, because it was refunded: which counts for more than a cancellation. */
export async function revokeRefunded(tx: Transaction, originId: Id, now: Date): Promise<void> {
  for (const { id, clubId, revokedReason } of await enrollmentsOfSale(tx, originId)) {
    await revokeAccess(tx, clubId, id, 'refund', now);
    if (revokedReason === 'cancellation')
      await tx.query(`UPDATE enrollments SET revoked_reason = 'refund', updated_at = $2 WHERE id = $1`, [id, now]);
  }
}

/**
 * Ends the access of a canceled subscription: at the end of its period if that is to come, else at once. An end that is
 * earlier already stays.
 * @returns what the ends that it moved were before, by enrollment
 */
export async function endCanceled(
  tx: Transaction,
  subscriptionId: Id,
  periodEnd: Date | null,
  now: Date,
): Promise<Record<Id, string | null>> {
  const endsBefore: Record<Id, string | null> = {};
  for (const enrollment of await enrollmentsOfSale(tx, subscriptionId)) {
    const { id, clubId, startsAt, endsAt } = enrollment;
    if (periodEnd === null || periodEnd <= now || periodEnd <= startsAt) {
      await revokeAccess(tx, clubId, id, 'cancellation', now);
    } else if (endsAt === null || endsAt > periodEnd) {
      await moveEnd(tx, enrollment, periodEnd, now);
      endsBefore[id] = endsAt?.toISOString() ?? null;
    }
  }
  return endsBefore;
}

/**
 * Gives the access of a subscription that was taken up again what the cancellation took.
 * @param periodEnd the end that the cancellation set, where it set one @param endsBefore as `endCanceled` gave it
 */
export async function resumeCanceled(
  tx: Transaction,
  subscriptionId: Id,
  periodEnd: Date | null,
  endsBefore: Readonly<Record<Id, string | null>>,
  now: Date,
): Promise<void> {
  for (const enrollment of await enrollmentsOfSale(tx, subscriptionId)) {
    if (enrollment.revokedReason === 'cancellation') await restoreAccess(tx, enrollment.clubId, enrollment.id, now);
    const before = endsBefore[enrollment.id];
    // An end that is not the cancellation's any more is somebody's decision.
    if (before !== undefined && enrollment.endsAt?.getTime() === periodEnd?.getTime())
      await moveEnd(tx, enrollment, before === null ? null : new Date(before), now);
  }
}
