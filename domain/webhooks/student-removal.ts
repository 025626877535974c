/** Removes the messages about a removed student (DEL-9, HOOK-11). */
import { WebhookDelivery } from '../../entities/webhooks/webhook-delivery.ts';
import { IsNull } from 'typeorm';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { Id } from '../../platform/core/ids.ts';
import { ending } from './deliveries/ending.ts';
import { clocksDifferMs } from './deliveries/retention.policy.ts';
import { columnsToWake, wakeManyDeliveries, type DeliveryToWake } from './deliveries/wakes.ts';

/**
 * Deletes bodies and response excerpts, cancels unsent deliveries, and wakes their workflows to end. The result of an attempt in flight is
 * recorded without an excerpt, and its delivery stays canceled. The caller has locked the student's row.
 */
export async function purgeStudentFromWebhooks(tx: Transaction, studentId: Id, now: Date): Promise<void> {
  // Locks by id, like all code that locks several deliveries.
  await tx.run(sql`SELECT FROM webhook_deliveries WHERE student_id = ${studentId} ORDER BY id FOR NO KEY UPDATE`);
  await tx.run(
    sql`DELETE FROM webhook_bodies kept USING webhook_events event
         WHERE event.student_id = ${studentId} AND kept.event_id = event.id AND kept.created_at = event.created_at`,
  );
  await tx.manager.update(WebhookDelivery, { studentId, payloadPurgedAt: IsNull() }, { payloadPurgedAt: now });
  const stopped = await tx.rows<DeliveryToWake>(
    sql`UPDATE webhook_deliveries
        SET ${ending({ now, reason: 'student_removed' })}
      WHERE student_id = ${studentId} AND (status = 'pending' OR requested IS NOT NULL OR in_flight IS NOT NULL)
  RETURNING ${columnsToWake()}`,
  );
  await tx.run(
    sql`UPDATE webhook_attempts attempt SET response_excerpt = NULL
       FROM webhook_deliveries delivery
      WHERE delivery.student_id = ${studentId} AND attempt.delivery_id = delivery.id AND attempt.response_excerpt IS NOT NULL
        AND attempt.started_at >= delivery.created_at - make_interval(secs => ${clocksDifferMs / 1_000})`,
  );
  await wakeManyDeliveries(tx, stopped, now);
}
