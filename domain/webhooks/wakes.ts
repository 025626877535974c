/** Waking the runs of deliveries and of gates. */
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Subject } from '../../platform/engine/workflow-types.ts';
import { wake } from '../../platform/engine/wakes.ts';

export type DeliveryToWake = Subject<'webhookDelivery'>;

/** @returns the columns of a delivery that its wake needs, for `RETURNING` and `SELECT` @param table its name there */
export const columnsToWake = (table = 'webhook_deliveries') =>
  `${table}.id, ${table}.club_id AS "clubId", ${table}.endpoint_id AS "endpointId", ${table}.event_type AS "eventType"`;

/** Makes the endpoint's gate look again, and run if it does not. */
export async function callGate(
  tx: Transaction,
  { endpointId, clubId }: { endpointId: Id; clubId: Id },
  now: Date,
): Promise<void> {
  await wake(tx, 'endpointGate', [{ id: endpointId, clubId }], now);
}
