/** Waking what waits for a delivery or an endpoint: one way each, with the attributes that an operator finds the run by. */
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import type { Id } from '../../platform/core/ids.ts';
import { wake, type NewWake } from '../../platform/engine/facts.ts';

export interface DeliveryToWake {
  id: Id;
  clubId: Id;
  endpointId: Id;
  eventType: string;
}

/** @returns the columns of a delivery that its wake needs, for `RETURNING` and `SELECT` @param table its name there */
export const columnsToWake = (table = 'webhook_deliveries') =>
  `${table}.id, ${table}.club_id AS "clubId", ${table}.endpoint_id AS "endpointId", ${table}.event_type AS "eventType"`;

export function deliveryWake({ id, clubId, endpointId, eventType }: DeliveryToWake): NewWake {
  const attributes = { ClubId: clubId, EndpointId: endpointId, EventType: eventType };
  return { workflowType: 'webhookDelivery', subjectId: id, clubId, attributes };
}

/** Makes the workflows of these deliveries look again. */
export async function wakeDeliveries(tx: Transaction, deliveries: readonly DeliveryToWake[], now: Date): Promise<void> {
  await wake(tx, deliveries.map(deliveryWake), now);
}

export function gateWake({ endpointId, clubId }: { endpointId: Id; clubId: Id }): NewWake {
  const attributes = { ClubId: clubId, EndpointId: endpointId };
  return { workflowType: 'endpointGate', subjectId: endpointId, clubId, attributes };
}

/** Makes the endpoint's gate look again, and run if it does not. */
export async function callGate(tx: Transaction, endpoint: { endpointId: Id; clubId: Id }, now: Date): Promise<void> {
  await wake(tx, [gateWake(endpoint)], now);
}
