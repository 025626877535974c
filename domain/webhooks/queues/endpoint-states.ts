/** Enables, pauses, disables and deletes an endpoint (STATE-1, STATE-2, STATE-6, STATE-7). */
import type { RecordOf } from '../../../contract/contract.ts';
import type { EndpointStatus } from '../../../entities/webhooks/values.ts';
import { WebhookDelivery } from '../../../entities/webhooks/webhook-delivery.ts';
import { WebhookEndpoint as Endpoint } from '../../../entities/webhooks/webhook-endpoint.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { VaultDeps } from '../../deps.ts';
import { lockEndpointStatus, notEnabled } from '../endpoints/endpoint-locks.ts';
import { findEndpoint } from '../endpoints/endpoints.ts';
import { closeEndpoint } from './close-endpoint.ts';
import { callGate, columnsToWake, type DeliveryToWake } from '../deliveries/wakes.ts';
import { wake } from '../../../platform/engine/wakes.ts';

type WebhookEndpoint = RecordOf<'WebhookEndpoint'>;

/**
 * Enables an endpoint. After a pause, its gate releases the parked deliveries. After a disabling, its breaker is reset.
 * @throws DomainError not_found; endpoint_not_enabled while a long queue is still being canceled
 */
export function enableEndpoint(deps: VaultDeps, clubId: Id, endpointId: Id, now: Date): Promise<WebhookEndpoint> {
  return changeState(deps, clubId, endpointId, now, async (tx, status) => {
    if (status === 'enabled') return;
    const fromDisabled = status === 'disabled';
    if (fromDisabled) await requireEmptyQueue(tx, endpointId);
    await tx.manager.update(
      Endpoint,
      { id: endpointId },
      {
        status: 'enabled',
        disabledReason: null,
        disabledAt: null,
        enabledAt: now,
        updatedAt: now,
        ...(fromDisabled ? { consecutiveFailures: 0, failingSince: null, gateLooksAt: null } : { gateLooksAt: now }),
      },
    );
    if (fromDisabled) return; // the queue of a disabled endpoint was canceled, so no delivery must be released
    await releaseManual(tx, endpointId, now);
    await callGate(tx, { endpointId, clubId }, now);
  });
}

/** @throws DomainError not_found; endpoint_not_enabled for a disabled endpoint */
export function pauseEndpoint(deps: VaultDeps, clubId: Id, endpointId: Id, now: Date): Promise<WebhookEndpoint> {
  return changeState(deps, clubId, endpointId, now, async (tx, status) => {
    if (status === 'paused') return;
    if (status === 'disabled') throw notEnabled('A disabled endpoint cannot be paused; enable it first.');
    await tx.manager.update(
      Endpoint,
      { id: endpointId },
      { status: 'paused', updatedAt: now, gateLooksAt: now, releasePage: 0 },
    );
    await callGate(tx, { endpointId, clubId }, now);
  });
}

/**
 * Disables an endpoint: it gets no more deliveries, and its queue is canceled.
 * @throws DomainError not_found
 */
export function disableEndpoint(deps: VaultDeps, clubId: Id, endpointId: Id, now: Date): Promise<WebhookEndpoint> {
  return changeState(deps, clubId, endpointId, now, async (tx, status) => {
    if (status === 'disabled') return;
    await closeEndpoint(tx, deps.vault, { id: endpointId, clubId }, 'manual', now);
    await callGate(tx, { endpointId, clubId }, now); // wakes the gate, so that its run ends
  });
}

/**
 * Hides the endpoint, erases its secrets and cancels its queue. Maintenance deletes its history later, because the history can have
 * millions of rows.
 * @throws DomainError not_found
 */
export async function deleteEndpoint({ db, vault }: VaultDeps, clubId: Id, endpointId: Id, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    await lockEndpointStatus(tx, clubId, endpointId);
    await closeEndpoint(tx, vault, { id: endpointId, clubId }, 'manual', now);
    await tx.manager.update(
      Endpoint,
      { id: endpointId },
      { deletedAt: now, secret: Buffer.alloc(0), previousSecret: null, previousSecretExpiresAt: null },
    );
    await callGate(tx, { endpointId, clubId }, now);
  });
}

function changeState(
  { db }: VaultDeps,
  clubId: Id,
  endpointId: Id,
  now: Date,
  change: (tx: Transaction, status: EndpointStatus) => Promise<void>,
): Promise<WebhookEndpoint> {
  return db.transaction(async (tx) => {
    await change(tx, await lockEndpointStatus(tx, clubId, endpointId));
    return findEndpoint(tx, clubId, endpointId, now);
  });
}

/** The gate may still be canceling a long queue. If the endpoint were enabled now, the rest of the queue would be sent. */
async function requireEmptyQueue(tx: Transaction, endpointId: Id): Promise<void> {
  const hasPending = await tx.manager.existsBy(WebhookDelivery, { endpointId, status: 'pending' });
  if (hasPending) throw notEnabled('The queue of the endpoint is still being canceled; try again in a moment.');
}

/** Manual attempts do not wait for the breaker, so they are released without the gate. */
async function releaseManual(tx: Transaction, endpointId: Id, now: Date): Promise<void> {
  const released = await tx.rows<DeliveryToWake>(
    sql`UPDATE webhook_deliveries SET parked_at = NULL
      WHERE endpoint_id = ${endpointId} AND parked_at IS NOT NULL AND requested IS DISTINCT FROM 'recovery'
        AND coalesce(in_flight, requested) IS NOT NULL
  RETURNING ${columnsToWake()}`,
  );
  await wake(tx, 'webhookDelivery', released, now);
}
