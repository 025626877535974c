/** Putting off a due attempt whose endpoint has as many under way as it may have (HOOK-16). */
import type { DataSource } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import type { DeliveryStep } from './parking.ts';

/** @returns the endpoint of a delivery; undefined once both are gone */
export async function endpointOf(source: DataSource, deliveryId: Id): Promise<Id | undefined> {
  const [row] = await endpointOfDelivery(source, [deliveryId]);
  return row?.endpointId;
}

const endpointOfDelivery = prepared<{ endpointId: Id }>(
  'endpoint_of_delivery',
  `SELECT endpoint_id AS "endpointId" FROM webhook_deliveries WHERE id = $1`,
);

/**
 * Makes the attempt of the schedule that is due be due later, so that the row is not overdue for the sweeper meanwhile.
 * @param now and `until` in Unix milliseconds
 * @returns undefined where no attempt of the schedule is due: one that was asked for by hand waits for nobody
 */
export async function putOff(
  source: DataSource,
  id: Id,
  now: number,
  until: number,
): Promise<DeliveryStep | undefined> {
  const [row] = await putOffDelivery(source, [id, new Date(now), new Date(until)]);
  return row && { done: false, waitingFor: 'attempt', at: until, attempt: row.attempt };
}

const putOffDelivery = prepared<{ attempt: number }>(
  'put_off_delivery',
  `UPDATE webhook_deliveries SET next_attempt_at = $3
    WHERE id = $1 AND status = 'pending' AND requested IS NULL AND in_flight IS NULL AND parked_at IS NULL
      AND next_attempt_at <= $2 AND (lease_until IS NULL OR lease_until < clock_timestamp())
RETURNING attempt_count + 1 AS attempt`,
);
