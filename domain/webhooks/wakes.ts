/** Waking the runs of deliveries and of gates. */
import { WebhookDelivery } from '../../entities/webhooks/webhook-delivery.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { columns } from '../../platform/infra/postgres/sql.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Subject } from '../../platform/engine/workflow-types.ts';
import { wake } from '../../platform/engine/wakes.ts';

export type DeliveryToWake = Subject<'webhookDelivery'>;

/** @returns the columns of a delivery that its wake needs, for `RETURNING` and `SELECT` @param table its name there */
export const columnsToWake = (table = 'webhook_deliveries') =>
  columns(WebhookDelivery, ['id', 'clubId', 'endpointId', 'eventType'], table);

/** Makes the endpoint's gate look again, and run if it does not. */
export async function callGate(
  tx: Transaction,
  { endpointId, clubId }: { endpointId: Id; clubId: Id },
  now: Date,
): Promise<void> {
  await wake(tx, 'endpointGate', [{ id: endpointId, clubId }], now);
}
