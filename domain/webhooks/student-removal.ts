/** What a student's removal does to the messages about them (specification: Delivery rules 9; DESIGN §5). */
import type { Transaction } from '../core/database.ts';
import type { Id } from '../core/ids.ts';
import { wake } from '../facts/facts.ts';

/**
 * Deletes bodies and response excerpts, cancels what is unsent and wakes its workflows so that they end. An attempt that
 * is in flight is still recorded when it returns, without an excerpt, and leaves the delivery canceled. The student's
 * row is locked by the caller.
 */
export async function purgeStudentFromWebhooks(tx: Transaction, studentId: Id, now: Date): Promise<void> {
  await tx.query(`UPDATE webhook_events SET body = NULL WHERE student_id = $1`, [studentId]);
  await tx.query(
    `UPDATE webhook_deliveries SET payload_purged_at = $2 WHERE student_id = $1 AND payload_purged_at IS NULL`,
    [studentId, now],
  );
  const [canceled] = await tx.query<[{ id: Id; clubId: Id; endpointId: Id; eventType: string }[], number]>(
    `UPDATE webhook_deliveries SET status = 'canceled', cancel_reason = 'student_removed', completed_at = $2
      WHERE student_id = $1 AND status = 'pending'
  RETURNING id, club_id AS "clubId", endpoint_id AS "endpointId", event_type AS "eventType"`,
    [studentId, now],
  );
  await tx.query(
    `UPDATE webhook_attempts attempt SET response_excerpt = NULL
       FROM webhook_deliveries delivery
      WHERE delivery.student_id = $1 AND attempt.delivery_id = delivery.id AND attempt.response_excerpt IS NOT NULL`,
    [studentId],
  );
  await wake(
    tx,
    canceled.map(({ id, clubId, endpointId, eventType }) => ({
      workflowType: 'webhookDelivery',
      subjectId: id,
      clubId,
      attributes: { ClubId: clubId, EndpointId: endpointId, EventType: eventType },
    })),
    now,
  );
}
