/** The endpoints of a club: registering, changing, listing, reading (OP-15, WEP-1 to WEP-7). */
import type { RecordOf } from '../../../contract/contract.ts';
import type { DisabledReason, EndpointStatus } from '../../../entities/webhooks/values.ts';
import { requireFeature } from '../../billing/allowances.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { windowOf, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import type { VaultDeps } from '../../deps.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import type { Egress } from '../../../platform/infra/egress/egress.ts';
import { deliveryRules } from '../deliveries/schedule.policy.ts';
import { newSecret } from '../deliveries/signature.ts';

type WebhookEndpoint = RecordOf<'WebhookEndpoint'>;

interface EndpointRow {
  id: Id;
  url: string;
  description: string | null;
  eventTypes: EventType[];
  status: EndpointStatus;
  disabledReason: DisabledReason | null;
  disabledAt: Date | null;
  consecutiveFailures: number;
  failingSince: Date | null;
  holdUntil: Date | null;
  lastSuccessAt: Date | null;
  previousSecretExpiresAt: Date | null;
  pendingDeliveries: number;
  createdAt: Date;
  updatedAt: Date;
}

/** `hold_until` and `previous_secret_expires_at` are ends of what is going on: past ones are told no more. `$1` is the time. */
const columns = `endpoint.id, endpoint.url, endpoint.description, endpoint.event_types AS "eventTypes", endpoint.status,
  endpoint.disabled_reason AS "disabledReason", endpoint.disabled_at AS "disabledAt",
  endpoint.consecutive_failures AS "consecutiveFailures", endpoint.failing_since AS "failingSince",
  CASE WHEN endpoint.hold_until > $1 THEN endpoint.hold_until END AS "holdUntil",
  endpoint.last_success_at AS "lastSuccessAt",
  CASE WHEN endpoint.previous_secret_expires_at > $1 THEN endpoint.previous_secret_expires_at END AS "previousSecretExpiresAt",
  (SELECT count(*)::int FROM webhook_deliveries delivery
    WHERE delivery.endpoint_id = endpoint.id AND delivery.status = 'pending') AS "pendingDeliveries",
  endpoint.created_at AS "createdAt", endpoint.updated_at AS "updatedAt"`;

/**
 * Registers an endpoint, enabled. The address is looked up before anything is written.
 * @returns the endpoint and its secret, which is shown here and at a rotation only
 * @throws DomainError feature_not_in_plan, url_not_allowed, endpoint_limit_reached
 */
export async function registerEndpoint(
  { db, vault, egress }: VaultDeps & { egress: Egress },
  clubId: Id,
  input: { url: string; event_types: EventType[]; description?: string },
  now: Date,
): Promise<{ endpoint: WebhookEndpoint; secret: string }> {
  await egress.checkUrl(input.url);
  const id = newId();
  const secret = newSecret();
  return db.transaction(async (tx) => {
    await requireFeature(tx, clubId, 'webhooks');
    // The lock makes the count hold until the commit: two twenty-first endpoints at once cannot both pass.
    await tx.query(`SELECT 1 FROM clubs WHERE id = $1 FOR NO KEY UPDATE`, [clubId]);
    const [counted] = await tx.query<{ total: number }[]>(
      `SELECT count(*)::int AS total FROM webhook_endpoints WHERE club_id = $1 AND deleted_at IS NULL`,
      [clubId],
    );
    if (counted && counted.total >= deliveryRules.endpointsPerClub) {
      throw new DomainError(
        'endpoint_limit_reached',
        `A club has at most ${deliveryRules.endpointsPerClub} webhook endpoints.`,
      );
    }
    await tx.query(
      `INSERT INTO webhook_endpoints (id, club_id, url, description, event_types, secret, created_at, updated_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $7)`,
      [id, clubId, input.url, input.description || null, input.event_types, vault.seal(secret, id), now],
    );
    return { endpoint: await findEndpoint(tx, clubId, id, now), secret };
  });
}

/**
 * Changes what is given; what is absent stays, so that two edits of different fields at once both hold. A new url is
 * checked like that of a registration, before anything is written; what is already on its way goes to the new one.
 * @param input.description the empty text removes it
 * @throws DomainError not_found, url_not_allowed
 */
export async function updateEndpoint(
  { db, egress }: VaultDeps & { egress: Egress },
  clubId: Id,
  endpointId: Id,
  input: { url?: string; event_types?: EventType[]; description?: string },
  now: Date,
): Promise<WebhookEndpoint> {
  if (input.url !== undefined) {
    await requireEndpoint(db, clubId, endpointId);
    await egress.checkUrl(input.url);
  }
  return db.transaction(async (tx) => {
    await tx.query(
      `UPDATE webhook_endpoints
          SET url = coalesce($3, url), event_types = coalesce($4, event_types),
              description = CASE WHEN $5::text IS NULL THEN description ELSE nullif($5, '') END, updated_at = $6
        WHERE id = $1 AND club_id = $2 AND deleted_at IS NULL`,
      [endpointId, clubId, input.url ?? null, input.event_types ?? null, input.description ?? null, now],
    );
    return findEndpoint(tx, clubId, endpointId, now);
  });
}

/**
 * @param now decides what of the record is still going on
 * @throws DomainError not_found, also for an endpoint of another club and for a deleted one
 */
export async function findEndpoint(db: Queries, clubId: Id, endpointId: Id, now: Date): Promise<WebhookEndpoint> {
  const [row] = await db.query<EndpointRow[]>(
    `SELECT ${columns} FROM webhook_endpoints endpoint
      WHERE endpoint.id = $2 AND endpoint.club_id = $3 AND endpoint.deleted_at IS NULL`,
    [now, endpointId, clubId],
  );
  if (!row) throw noEndpoint();
  return presentEndpoint(row);
}

/** @throws DomainError not_found where the club has no such endpoint */
export async function requireEndpoint(db: Queries, clubId: Id, endpointId: Id): Promise<void> {
  const rows = await db.query<unknown[]>(
    `SELECT 1 FROM webhook_endpoints WHERE id = $1 AND club_id = $2 AND deleted_at IS NULL`,
    [endpointId, clubId],
  );
  if (rows.length === 0) throw noEndpoint();
}

export const noEndpoint = () => notFound('webhook endpoint');

/** @returns a page of the club's endpoints, oldest first */
export async function listEndpoints(
  db: Queries,
  clubId: Id,
  page: PageRequest,
  now: Date,
): Promise<Page<WebhookEndpoint>> {
  const { limit, offset } = windowOf(page);
  const [counted] = await db.query<{ total: number }[]>(
    `SELECT count(*)::int AS total FROM webhook_endpoints WHERE club_id = $1 AND deleted_at IS NULL`,
    [clubId],
  );
  const rows = await db.query<EndpointRow[]>(
    `SELECT ${columns} FROM webhook_endpoints endpoint WHERE endpoint.club_id = $2 AND endpoint.deleted_at IS NULL
      ORDER BY endpoint.created_at, endpoint.id LIMIT ${limit} OFFSET ${offset}`,
    [now, clubId],
  );
  return { rows: rows.map(presentEndpoint), total: counted?.total ?? 0 };
}

function presentEndpoint(row: EndpointRow): WebhookEndpoint {
  return {
    id: row.id,
    url: row.url,
    ...(row.description !== null && { description: row.description }),
    event_types: row.eventTypes,
    status: row.status,
    ...(row.disabledReason !== null && { disabled_reason: row.disabledReason }),
    ...instant('disabled_at', row.disabledAt),
    consecutive_failures: row.consecutiveFailures,
    ...instant('failing_since', row.failingSince),
    ...instant('hold_until', row.holdUntil),
    ...instant('last_success_at', row.lastSuccessAt),
    ...instant('previous_secret_expires_at', row.previousSecretExpiresAt),
    pending_deliveries: row.pendingDeliveries,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}

function instant<Name extends string>(name: Name, at: Date | null): { [K in Name]?: string } {
  return at === null ? {} : ({ [name]: at.toISOString() } as { [K in Name]: string });
}
