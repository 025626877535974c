/** What a student's removal does to the messages about them (DEL-9, HOOK-11). */
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import type { Id } from '../../platform/core/ids.ts';
import { ending } from './deliveries/ending.ts';
import { columnsToWake, type DeliveryToWake } from './wakes.ts';
import { wake } from '../../platform/engine/wakes.ts';

/**
 * Deletes bodies and response excerpts, cancels what is unsent and wakes its workflows so that they end. An attempt that
 * is in flight is still recorded when it returns, without an excerpt, and leaves the delivery canceled. The student's
 * row is locked by the caller.
 */
export async function purgeStudentFromWebhooks(tx: Transaction, studentId: Id, now: Date): Promise<void> {
  // Locked in the order of their ids, as everywhere where several are.
  await tx.query(`SELECT FROM webhook_deliveries WHERE student_id = $1 ORDER BY id FOR NO KEY UPDATE`, [studentId]);
  await tx.query(`UPDATE webhook_events SET body = NULL WHERE student_id = $1`, [studentId]);
  await tx.query(
    `UPDATE webhook_deliveries SET payload_purged_at = $2 WHERE student_id = $1 AND payload_purged_at IS NULL`,
    [studentId, now],
  );
  const [stopped] = await tx.query<[DeliveryToWake[], number]>(
    `UPDATE webhook_deliveries
        SET ${ending({ now: '$2', reason: "'student_removed'" })}
      WHERE student_id = $1 AND (status = 'pending' OR requested IS NOT NULL OR in_flight IS NOT NULL)
  RETURNING ${columnsToWake()}`,
    [studentId, now],
  );
  await tx.query(
    `UPDATE webhook_attempts attempt SET response_excerpt = NULL
       FROM webhook_deliveries delivery
      WHERE delivery.student_id = $1 AND attempt.delivery_id = delivery.id AND attempt.response_excerpt IS NOT NULL`,
    [studentId],
  );
  await wake(tx, 'webhookDelivery', stopped, now);
}
