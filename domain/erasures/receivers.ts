/** The receivers of `student.removed`: which endpoints of the club acknowledged that a student was removed (ERS-33). */
import type { ErasureReceiver } from '../../entities/erasures/erasure.ts';
import type { DeliveryStatus } from '../../entities/webhooks/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Database, Queries } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';

const dayMs = 86_400_000;

/**
 * A delivery expires 30 days after its event (DEL-8), and its row exists for 90 days. So the list is final after 45 days, and its rows
 * exist then.
 */
export const receiversFinalAfterMs = 45 * dayMs;
const finalARound = 200;

/** @returns the deliveries of the student's `student.removed` whose rows exist, ordered by delivery */
export async function readReceivers(tx: Queries, clubId: Id, studentId: Id): Promise<ErasureReceiver[]> {
  const rows = await tx.rows<{ endpointId: Id; deliveryId: Id; status: DeliveryStatus; completedAt: Date | null }>(sql`
    SELECT endpoint_id AS "endpointId", id AS "deliveryId", status, completed_at AS "completedAt" FROM webhook_deliveries
     WHERE student_id = ${studentId} AND club_id = ${clubId} AND event_type = 'student.removed' ORDER BY id`);
  return rows.map(({ completedAt, ...receiver }) => ({
    ...receiver,
    acknowledgedAt: receiver.status === 'succeeded' ? (completedAt?.toISOString() ?? null) : null,
  }));
}

/** @returns both lists as one, ordered by delivery. A delivery in both lists has its live state */
export function mergeReceivers(
  stored: readonly ErasureReceiver[],
  live: readonly ErasureReceiver[],
): readonly ErasureReceiver[] {
  const merged = new Map([...stored, ...live].map((receiver) => [receiver.deliveryId, receiver]));
  return [...merged.values()].toSorted((one, other) => (one.deliveryId < other.deliveryId ? -1 : 1));
}

/** Stores the final lists of students whose erasure was completed 45 days ago, one batch at a time. Repetition does no harm. */
export async function storeFinalReceivers(db: Database, now: Date): Promise<{ stored: number; more: boolean }> {
  const due = await db.rows<{ id: Id; clubId: Id; subjectId: Id; receivers: ErasureReceiver[] }>(sql`
    SELECT id, club_id AS "clubId", subject_id AS "subjectId", receivers FROM erasures
     WHERE kind = 'student' AND completed_at IS NOT NULL AND NOT receivers_final
       AND completed_at <= ${new Date(now.getTime() - receiversFinalAfterMs)}
     ORDER BY completed_at LIMIT ${finalARound}`);
  for (const { id, clubId, subjectId, receivers } of due) {
    const final = mergeReceivers(receivers, await readReceivers(db, clubId, subjectId));
    await db.run(
      sql`UPDATE erasures SET receivers = ${JSON.stringify(final)}::jsonb, receivers_final = true WHERE id = ${id}`,
    );
  }
  return { stored: due.length, more: due.length === finalARound };
}
