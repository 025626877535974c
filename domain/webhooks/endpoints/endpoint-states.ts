/** Enabling, pausing, disabling and deleting an endpoint (STATE-1, STATE-2, STATE-6, STATE-7). */
import type { RecordOf } from '../../../contract/contract.ts';
import type { EndpointStatus } from '../../../entities/webhooks/values.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { VaultDeps } from '../../deps.ts';
import { findEndpoint, noEndpoint } from './endpoints.ts';
import { closeEndpoint } from './queue.ts';
import { callGate, columnsToWake, type DeliveryToWake } from '../wakes.ts';
import { wake } from '../../../platform/engine/wakes.ts';

type WebhookEndpoint = RecordOf<'WebhookEndpoint'>;

/**
 * From `paused`, what has accumulated goes out, paced by the gate; from `disabled`, the breaker is reset. An enabled one
 * stays as it is.
 * @throws DomainError not_found; endpoint_not_enabled while a long queue is still being canceled
 */
export function enableEndpoint(deps: VaultDeps, clubId: Id, endpointId: Id, now: Date): Promise<WebhookEndpoint> {
  return changeState(deps, clubId, endpointId, now, async (tx, status) => {
    if (status === 'enabled') return;
    const fromDisabled = status === 'disabled';
    if (fromDisabled) await requireEmptyQueue(tx, endpointId);
    await tx.query(
      `UPDATE webhook_endpoints
          SET status = 'enabled', disabled_reason = NULL, disabled_at = NULL, enabled_at = $2, updated_at = $2,
              consecutive_failures = CASE WHEN $3 THEN 0 ELSE consecutive_failures END,
              failing_since = CASE WHEN $3 THEN NULL ELSE failing_since END,
              gate_looks_at = CASE WHEN $3 THEN NULL ELSE $2::timestamptz END
        WHERE id = $1`,
      [endpointId, now, fromDisabled],
    );
    if (fromDisabled) return; // its queue was canceled: there is nothing to release
    await releaseAsked(tx, endpointId, now);
    await callGate(tx, { endpointId, clubId }, now);
  });
}

/** @throws DomainError not_found; endpoint_not_enabled for a disabled one */
export function pauseEndpoint(deps: VaultDeps, clubId: Id, endpointId: Id, now: Date): Promise<WebhookEndpoint> {
  return changeState(deps, clubId, endpointId, now, async (tx, status) => {
    if (status === 'paused') return;
    if (status === 'disabled') throw notEnabled('A disabled endpoint cannot be paused; enable it first.');
    await tx.query(
      `UPDATE webhook_endpoints SET status = 'paused', updated_at = $2, gate_looks_at = $2, release_page = 0 WHERE id = $1`,
      [endpointId, now],
    );
    await callGate(tx, { endpointId, clubId }, now);
  });
}

/** Nothing new is created, and the queue is canceled. A disabled one stays as it is. @throws DomainError not_found */
export function disableEndpoint(deps: VaultDeps, clubId: Id, endpointId: Id, now: Date): Promise<WebhookEndpoint> {
  return changeState(deps, clubId, endpointId, now, async (tx, status) => {
    if (status === 'disabled') return;
    await closeEndpoint(tx, deps.vault, { id: endpointId, clubId }, 'manual', now);
    await callGate(tx, { endpointId, clubId }, now); // so that its run ends
  });
}

/**
 * Gone for everybody who asks, its secrets erased and its queue canceled; its history follows in the background, because
 * it can be millions of rows. @throws DomainError not_found
 */
export async function deleteEndpoint({ db, vault }: VaultDeps, clubId: Id, endpointId: Id, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    await lockStatus(tx, clubId, endpointId);
    await closeEndpoint(tx, vault, { id: endpointId, clubId }, 'manual', now);
    await tx.query(
      `UPDATE webhook_endpoints
          SET deleted_at = $2, secret = '', previous_secret = NULL, previous_secret_expires_at = NULL WHERE id = $1`,
      [endpointId, now],
    );
    await callGate(tx, { endpointId, clubId }, now);
  });
}

/**
 * Locks the endpoint's row before reading anything (ENG-6).
 * @throws DomainError not_found
 */
async function lockStatus(tx: Transaction, clubId: Id, endpointId: Id): Promise<EndpointStatus> {
  const [endpoint] = await tx.query<{ status: EndpointStatus }[]>(
    `SELECT status FROM webhook_endpoints WHERE id = $1 AND club_id = $2 AND deleted_at IS NULL FOR NO KEY UPDATE`,
    [endpointId, clubId],
  );
  if (!endpoint) throw noEndpoint();
  return endpoint.status;
}

/**
 * For operations that need an endpoint to be enabled until they are committed.
 * @throws DomainError not_found; endpoint_not_enabled
 */
export async function lockEnabledEndpoint(tx: Transaction, clubId: Id, endpointId: Id): Promise<void> {
  const status = await lockStatus(tx, clubId, endpointId);
  if (status !== 'enabled') throw notEnabled(`The endpoint is ${status}; enable it first.`);
}

function changeState(
  { db }: VaultDeps,
  clubId: Id,
  endpointId: Id,
  now: Date,
  change: (tx: Transaction, status: EndpointStatus) => Promise<void>,
): Promise<WebhookEndpoint> {
  return db.transaction(async (tx) => {
    await change(tx, await lockStatus(tx, clubId, endpointId));
    return findEndpoint(tx, clubId, endpointId, now);
  });
}

/** A long queue is canceled in parts: what is left of it must not go out because the endpoint was enabled meanwhile. */
async function requireEmptyQueue(tx: Transaction, endpointId: Id): Promise<void> {
  const [left] = await tx.query<unknown[]>(
    `SELECT 1 FROM webhook_deliveries WHERE endpoint_id = $1 AND status = 'pending' LIMIT 1`,
    [endpointId],
  );
  if (left) throw notEnabled('What was waiting for it is still being canceled; try again in a moment.');
}

/** Attempts that were asked for do not wait for the breaker, so they go at once, not through the gate. */
async function releaseAsked(tx: Transaction, endpointId: Id, now: Date): Promise<void> {
  const [released] = await tx.query<[DeliveryToWake[], number]>(
    `UPDATE webhook_deliveries SET parked_at = NULL
      WHERE endpoint_id = $1 AND parked_at IS NOT NULL AND requested IS DISTINCT FROM 'recovery'
        AND coalesce(in_flight, requested) IS NOT NULL
  RETURNING ${columnsToWake()}`,
    [endpointId],
  );
  await wake(tx, 'webhookDelivery', released, now);
}

const notEnabled = (message: string) => new DomainError('endpoint_not_enabled', message);
