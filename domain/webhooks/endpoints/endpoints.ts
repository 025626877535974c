/** Registers, changes, lists and reads the endpoints of a club (OP-15, WEP-1 to WEP-7). */
import { IsNull } from 'typeorm';
import type { RecordOf } from '../../../contract/contract.ts';
import { requireFeature } from '../../billing/allowances.ts';
import { Club } from '../../../entities/clubs/club.ts';
import { WebhookEndpoint as Endpoint } from '../../../entities/webhooks/webhook-endpoint.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { columns, given, sql, type RowOf, type Sql } from '../../../platform/infra/postgres/sql.ts';
import { ascending } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import type { VaultDeps } from '../../deps.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import type { Egress } from '../../../platform/infra/egress/egress.ts';
import { startLog } from './event-log.ts';
import { endpointRules } from './endpoints.policy.ts';
import { newSecret } from './secrets.ts';

type WebhookEndpoint = RecordOf<'WebhookEndpoint'>;

/** `hold_until` and `previous_secret_expires_at` are shown only while they are in the future. */
const columnsAt = (now: Date) =>
  columns(
    Endpoint,
    [
      'id',
      'url',
      'description',
      'eventTypes',
      'status',
      'disabledReason',
      'disabledAt',
      'consecutiveFailures',
      'failingSince',
      'lastSuccessAt',
      'createdAt',
      'updatedAt',
    ],
    'endpoint',
  ).and<Pick<Endpoint, 'holdUntil' | 'previousSecretExpiresAt'> & { pendingDeliveries: number }>(
    sql`CASE WHEN endpoint.hold_until > ${now} THEN endpoint.hold_until END AS "holdUntil",
  CASE WHEN endpoint.previous_secret_expires_at > ${now} THEN endpoint.previous_secret_expires_at END AS "previousSecretExpiresAt",
  (SELECT count(*)::int FROM webhook_deliveries delivery
    WHERE delivery.endpoint_id = endpoint.id AND delivery.status = 'pending') AS "pendingDeliveries"`,
  );
type EndpointRow = RowOf<ReturnType<typeof columnsAt>>;

/** The clauses FROM and WHERE that select the club's endpoints. */
const listed = (clubId: Id): Sql =>
  sql`FROM webhook_endpoints endpoint WHERE endpoint.club_id = ${clubId} AND endpoint.deleted_at IS NULL`;

/**
 * Registers an enabled endpoint. The host is looked up before any write.
 * @returns the endpoint and its secret. Only this answer and the answer to a rotation show a secret
 * @throws DomainError feature_not_in_plan, url_not_allowed, endpoint_limit_reached
 */
export async function registerEndpoint(
  { db, vault, egress }: VaultDeps & { egress: Egress },
  clubId: Id,
  input: { url: string; event_types: EventType[]; description?: string },
  now: Date,
): Promise<{ endpoint: WebhookEndpoint; secret: string }> {
  const url = await egress.checkUrl(input.url);
  const id = newId();
  const secret = newSecret();
  return db.transaction(async (tx) => {
    await requireFeature(tx, clubId, 'webhooks');
    // The lock prevents two concurrent requests from both creating the last allowed endpoint.
    await tx.manager.findOne(Club, {
      select: { id: true },
      where: { id: clubId },
      lock: { mode: 'for_no_key_update' },
    });
    const total = await tx.manager.countBy(Endpoint, { clubId, deletedAt: IsNull() });
    if (total >= endpointRules.endpointsPerClub) {
      throw new DomainError(
        'endpoint_limit_reached',
        `A club has at most ${endpointRules.endpointsPerClub} webhook endpoints.`,
      );
    }
    await tx.manager.insert(Endpoint, {
      id,
      clubId,
      url,
      description: input.description || null,
      eventTypes: input.event_types,
      secret: vault.seal(secret, id),
      createdAt: now,
      updatedAt: now,
    });
    await startLog(tx, clubId, now);
    return { endpoint: await findEndpoint(tx, clubId, id, now), secret };
  });
}

/**
 * Changes only the fields that are present. So concurrent edits of different fields do not overwrite each other. A new URL is checked in
 * the same way as at the registration, before any write. Pending deliveries use the new URL.
 * @param input.description an empty text removes it
 * @throws DomainError not_found, url_not_allowed
 */
export async function updateEndpoint(
  { db, egress }: VaultDeps & { egress: Egress },
  clubId: Id,
  endpointId: Id,
  input: { url?: string; event_types?: EventType[]; description?: string },
  now: Date,
): Promise<WebhookEndpoint> {
  let url: string | undefined;
  if (input.url !== undefined) {
    await requireEndpoint(db, clubId, endpointId);
    url = await egress.checkUrl(input.url);
  }
  return db.transaction(async (tx) => {
    const { event_types: eventTypes, description } = input;
    await tx.manager.update(
      Endpoint,
      { id: endpointId, clubId, deletedAt: IsNull() },
      {
        ...given({ url, eventTypes }),
        ...(description !== undefined && { description: description || null }),
        updatedAt: now,
      },
    );
    return findEndpoint(tx, clubId, endpointId, now);
  });
}

/**
 * @param now decides whether the hold and the rotation are over
 * @throws DomainError not_found, also for an endpoint of another club and for a deleted endpoint
 */
export async function findEndpoint(db: Queries, clubId: Id, endpointId: Id, now: Date): Promise<WebhookEndpoint> {
  const row = await db.one<EndpointRow>(
    sql`SELECT ${columnsAt(now)} ${listed(clubId)} AND endpoint.id = ${endpointId}`,
  );
  if (!row) throw noEndpoint();
  return presentEndpoint(row);
}

/** @throws DomainError not_found if the club has no such endpoint */
export async function requireEndpoint(db: Queries, clubId: Id, endpointId: Id): Promise<void> {
  const exists = await db.manager.existsBy(Endpoint, { id: endpointId, clubId, deletedAt: IsNull() });
  if (!exists) throw noEndpoint();
}

export const noEndpoint = () => notFound('webhook endpoint');

/** @returns a page of the club's endpoints, oldest first */
export async function listEndpoints(
  db: Queries,
  clubId: Id,
  page: PageRequest,
  now: Date,
): Promise<Page<WebhookEndpoint>> {
  const { rows, total, next } = await listPage(db, page, {
    columns: columnsAt(now),
    from: listed(clubId),
    changedAt: 'endpoint.changed_at',
    orderBy: [ascending('endpoint.created_at', 'timestamptz'), ascending('endpoint.id', 'uuid')],
  });
  return { rows: rows.map(presentEndpoint), total, next };
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
