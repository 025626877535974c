/** Ends the webhooks of a club that is erased: disables its endpoints, and cancels their queues. Its streams end, because no caller lives. */
import type { Id } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { CloseClub } from '../questions.ts';
import { lockEndpointStatus } from './endpoints/endpoint-locks.ts';
import { cancelSome } from './queues/close-endpoint.ts';
import { disableEndpoint } from './queues/endpoint-states.ts';

/** No attempt begins at a disabled endpoint. All endpoints are disabled before the rest of the first queue is canceled. */
export const closeWebhooks: CloseClub = async (deps, clubId, now) => {
  const open = await deps.db.one<{ id: Id }>(sql`SELECT id FROM webhook_endpoints
    WHERE club_id = ${clubId} AND deleted_at IS NULL AND status <> 'disabled' ORDER BY id LIMIT 1`);
  if (open) {
    await disableEndpoint(deps, clubId, open.id, now);
    return { more: true };
  }
  const queued = await deps.db.one<{ id: Id }>(sql`SELECT id FROM webhook_endpoints endpoint
    WHERE club_id = ${clubId} AND deleted_at IS NULL
      AND EXISTS (SELECT FROM webhook_deliveries WHERE endpoint_id = endpoint.id AND status = 'pending') ORDER BY id LIMIT 1`);
  if (!queued) return { more: false };
  await deps.db.transaction(async (tx) => {
    await lockEndpointStatus(tx, clubId, queued.id);
    await cancelSome(tx, queued.id, now);
  });
  return { more: true };
};
