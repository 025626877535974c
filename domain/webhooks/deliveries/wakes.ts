/** Wakes the runs of deliveries and of gates. */
import { bulk, type Priority } from '../../../entities/facts/values.ts';
import { WebhookDelivery } from '../../../entities/webhooks/webhook-delivery.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Subject } from '../../../platform/engine/workflow-types.ts';
import { wake } from '../../../platform/engine/wakes.ts';

export type DeliveryToWake = Subject<'webhookDelivery'>;

/** @returns the columns for the wake of a delivery, for `RETURNING` and `SELECT` @param table the table's name or alias */
export const columnsToWake = (table = 'webhook_deliveries') =>
  columns(WebhookDelivery, ['id', 'clubId', 'endpointId', 'eventType'], table);

/**
 * Wakes the run that continues a delivery after a claim. The run has the priority of the fact. If an administrator has requested an
 * attempt, it has normal priority (ENG-15).
 */
export async function wakeSuccessor(
  tx: Transaction,
  { priority }: { priority?: Priority },
  { manual, ...delivery }: DeliveryToWake & { manual: boolean },
  now: Date,
): Promise<void> {
  const keepsPriority = priority !== undefined && !manual;
  await wake(tx, 'webhookDelivery', [{ ...delivery, ...(keepsPriority && { priority }) }], now);
}

/** Wakes many runs with the priority bulk, because released, canceled or purged deliveries must not overtake new facts (ENG-15). */
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

/** Signals the workflow run of the endpoint's gate. If the gate has no run, starts one. */
export async function callGate(
  tx: Transaction,
  { endpointId, clubId }: { endpointId: Id; clubId: Id },
  now: Date,
): Promise<void> {
  await wake(tx, 'endpointGate', [{ id: endpointId, clubId }], now);
}
