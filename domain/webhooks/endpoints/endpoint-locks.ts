/** Locks an endpoint for a change that depends on its status (ENG-6). */
import { IsNull } from 'typeorm';
import { WebhookEndpoint } from '../../../entities/webhooks/webhook-endpoint.ts';
import type { EndpointStatus } from '../../../entities/webhooks/values.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { noEndpoint } from './endpoints.ts';

/**
 * Locks the endpoint's row before it reads anything (ENG-6).
 * @returns the status, which cannot change before the commit
 * @throws DomainError not_found
 */
export async function lockEndpointStatus(tx: Transaction, clubId: Id, endpointId: Id): Promise<EndpointStatus> {
  const endpoint = await tx.manager.findOne(WebhookEndpoint, {
    select: { status: true },
    where: { id: endpointId, clubId, deletedAt: IsNull() },
    lock: { mode: 'for_no_key_update' },
  });
  if (!endpoint) throw noEndpoint();
  return endpoint.status;
}

/**
 * Locks an endpoint and requires that it is enabled, so that the endpoint stays enabled until the commit.
 * @throws DomainError not_found; endpoint_not_enabled
 */
export async function lockEnabledEndpoint(tx: Transaction, clubId: Id, endpointId: Id): Promise<void> {
  const status = await lockEndpointStatus(tx, clubId, endpointId);
  if (status !== 'enabled') throw notEnabled(`The endpoint is ${status}; enable it first.`);
}

export const notEnabled = (message: string) => new DomainError('endpoint_not_enabled', message);
