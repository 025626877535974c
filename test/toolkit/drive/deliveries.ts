/** Waits until webhook deliveries have ended, wakes their runs, and ends their leases. */
import { Database } from '../../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../../platform/infra/postgres/notifications.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { WebhookDelivery } from '../../../entities/webhooks/webhook-delivery.ts';
import { deliveryRow } from '../assert/webhooks.ts';
import type { TestWebhookDelivery } from '../builders/webhooks.ts';
import { testDeps, testDatabase } from '../stack/database.ts';
import { until } from './until.ts';

export async function untilDelivery(id: Id, status: WebhookDelivery['status'], timeoutMs = 5_000): Promise<void> {
  await until(status, { timeoutMs }, async () => (await deliveryRow(id)).status === status);
}

/** Writes a wake for the delivery's workflow, and notifies the relay. */
export async function wakeDelivery({ id, clubId, endpoint }: TestWebhookDelivery): Promise<void> {
  const { db } = await testDeps();
  const delivery = { id, clubId, endpointId: endpoint.id, eventType: 'student.updated' } as const;
  const notified = new Database(
    db.source,
    createNotifier(db.source, () => {}),
  );
  await notified.transaction((tx) => wake(tx, 'webhookDelivery', [delivery], new Date()));
}

/** Ends the lease of an attempt in flight now, by the clock of the database, so that the test need not wait 25 s. */
export async function endLease(deliveryId: Id): Promise<void> {
  await (
    await testDatabase()
  ).query(`UPDATE webhook_deliveries SET lease_until = clock_timestamp() - interval '1 ms' WHERE id = $1`, [
    deliveryId,
  ]);
}
