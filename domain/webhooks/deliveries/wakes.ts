/** Waking the runs of deliveries and of gates. */
import { bulk, type Priority } from '../../../entities/facts/values.ts';
import { WebhookDelivery } from '../../../entities/webhooks/webhook-delivery.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Subject } from '../../../platform/engine/workflow-types.ts';
import { wake } from '../../../platform/engine/wakes.ts';

export type DeliveryToWake = Subject<'webhookDelivery'>;

/** @returns the columns of a delivery that its wake needs, for `RETURNING` and `SELECT` @param table its name there */
export const columnsToWake = (table = 'webhook_deliveries') =>
  columns(WebhookDelivery, ['id', 'clubId', 'endpointId', 'eventType'], table);

/**
 * Wakes the run that takes a claimed delivery over: in the priority of its fact, but never as bulk where somebody has asked for an attempt
 * meanwhile (ENG-15).
 */
export async function wakeInPlaceOf(
  tx: Transaction,
  { priority }: { priority?: Priority },
  { asked, ...delivery }: DeliveryToWake & { asked: boolean },
  now: Date,
): Promise<void> {
  const keeps = priority !== undefined && !asked;
  await wake(tx, 'webhookDelivery', [{ ...delivery, ...(keeps && { priority }) }], now);
}

/** Wakes many at once, as bulk: what is released, canceled or purged must not go before new facts of anybody (ENG-15). */
export async function wakeManyDeliveries(
  tx: Transaction,
  deliveries: readonly DeliveryToWake[],
  now: Date,
): Promise<void> {
  await wake(
    tx,
    'webhookDelivery',
    deliveries.map((delivery) => ({ ...delivery, priority: bulk })),
    now,
  );
}

/** Makes the endpoint's gate look again, and run if it does not. */
export async function callGate(
  tx: Transaction,
  { endpointId, clubId }: { endpointId: Id; clubId: Id },
  now: Date,
): Promise<void> {
  await wake(tx, 'endpointGate', [{ id: endpointId, clubId }], now);
}
