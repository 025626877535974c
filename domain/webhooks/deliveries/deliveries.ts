/** Reads the history of an endpoint: its deliveries, and one delivery with its attempts and its body. */
import type { RecordOf } from '../../../contract/contract.ts';
import { WebhookAttempt as WebhookAttemptRow } from '../../../entities/webhooks/webhook-attempt.ts';
import { WebhookDelivery as Delivery } from '../../../entities/webhooks/webhook-delivery.ts';
import type { AttemptOutcome, DeliveryStatus } from '../../../entities/webhooks/values.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import { newestFirst, orderBy } from '../../../platform/infra/postgres/lists/order.ts';
import {
  cutPage,
  printedKeys,
  windowAfter,
  type Page,
  type PageRequest,
} from '../../../platform/infra/postgres/lists/page.ts';
import type { DeliveredEventType } from '../../../platform/core/event-types.ts';
import { requireEndpoint, noEndpoint } from '../endpoints/endpoints.ts';
import { bodyOf } from './bodies.ts';
import { clocksDifferMs, endOf } from './retention.policy.ts';
import { counting, selection } from './tallies.ts';

type WebhookDelivery = RecordOf<'WebhookDelivery'>;
type WebhookDeliveryDetail = RecordOf<'WebhookDeliveryDetail'>;
type WebhookAttempt = RecordOf<'WebhookAttempt'>;

const deliveryColumns = columns(Delivery, [
  'id',
  'eventId',
  'eventType',
  'endpointId',
  'status',
  'cancelReason',
  'attemptCount',
  'nextAttemptAt',
  'createdAt',
  'completedAt',
]).and<{ removed: boolean }>(sql`payload_purged_at IS NOT NULL AS removed`);
type DeliveryRow = RowOf<typeof deliveryColumns>;

const order = newestFirst();
const keyedColumns = deliveryColumns.and<{ cursorKeys: string[] }>(printedKeys(order));
type KeyedDelivery = RowOf<typeof keyedColumns>;

const attemptColumns = columns(WebhookAttemptRow, [
  'number',
  'trigger',
  'startedAt',
  'durationMs',
  'responseStatus',
  'errorCode',
  'responseExcerpt',
  'retryAfterSeconds',
]).and<{ outcome: AttemptOutcome }>(sql`outcome`);

export interface DeliveryFilter extends PageRequest {
  status?: DeliveryStatus;
  event_type?: DeliveredEventType;
  /** If present, only deliveries that were created at or after this ISO 8601 date-time are listed. */
  since?: string;
  /** If present, only deliveries that were created before this ISO 8601 date-time are listed. */
  until?: string;
}

/**
 * One statement reads page and total, so that they are consistent.
 * @returns a page of the endpoint's deliveries, newest first; deliveries of the same time are sorted by id
 * @throws DomainError not_found for the endpoint; invalid_request for an invalid time, or for an `until` before `since`
 */
export async function listDeliveries(
  db: Queries,
  clubId: Id,
  endpointId: Id,
  filter: DeliveryFilter,
  now: Date,
): Promise<Page<WebhookDelivery>> {
  const { after, limit, offset } = windowAfter(filter, order);
  const { status, event_type: eventType } = filter;
  const selected = {
    endpointId,
    ...(status !== undefined && { status }),
    ...(eventType !== undefined && { eventType }),
    ...timesOf(filter, endOf.history(now).getTime() + 1),
  };
  const newest = sql`ORDER BY ${orderBy(order)} LIMIT ${offset + limit}`;
  const read = await db.rows<({ total: number } & KeyedDelivery) | { total: number; id: null }>(
    sql`SELECT endpoint.total, page.*
       FROM (SELECT ${counting(selected)} AS total FROM webhook_endpoints
              WHERE id = ${endpointId} AND club_id = ${clubId} AND deleted_at IS NULL) endpoint
       LEFT JOIN (SELECT * FROM (${selection(keyedColumns, selected, { after, order: newest })}) AS found
                   ORDER BY "createdAt" DESC, id DESC LIMIT ${limit} OFFSET ${offset}) page ON true
      ORDER BY page."createdAt" DESC, page.id DESC`,
  );
  const [first] = read;
  if (!first) throw noEndpoint();
  const { rows, next } = cutPage<DeliveryRow>(
    filter,
    order,
    read.flatMap((row) => (row.id === null ? [] : [row])),
  );
  return { rows: rows.map((row) => presentDelivery(row, now)), total: first.total, next };
}

/** @param earliest Unix milliseconds */
function timesOf(
  { since, until }: { since?: string; until?: string },
  earliest: number,
): { since: number; until: number } {
  const times = {
    since: since === undefined ? -Infinity : millisecondsOf(since),
    until: until === undefined ? Infinity : millisecondsOf(until),
  };
  if (times.until < times.since) throw new DomainError('invalid_request', 'until must not be before since.');
  return { ...times, since: Math.max(times.since, earliest) };
}

/** Rounds microseconds up to the next millisecond, because deliveries are created at whole milliseconds. */
function millisecondsOf(text: string): number {
  const at = Date.parse(text.toUpperCase());
  return /\.\d{3}\d*[1-9]/.test(text) ? at + 1 : at;
}

/** @returns one delivery with the attempts that have ended, in the order in which they were made @throws DomainError not_found */
export async function findDelivery(
  db: Queries,
  clubId: Id,
  endpointId: Id,
  deliveryId: Id,
  now: Date,
): Promise<WebhookDeliveryDetail> {
  await requireEndpoint(db, clubId, endpointId);
  const row = await db.one<DeliveryRow>(
    sql`SELECT ${deliveryColumns}
       FROM webhook_deliveries WHERE id = ${deliveryId} AND endpoint_id = ${endpointId} AND created_at > ${endOf.history(now)}`,
  );
  if (!row) throw notFound('delivery');
  const attempts = await db.rows<RowOf<typeof attemptColumns>>(
    sql`SELECT ${attemptColumns} FROM webhook_attempts
      WHERE delivery_id = ${deliveryId} AND outcome IS NOT NULL AND started_at > ${endOf.attempts(now)}
        AND started_at >= ${new Date(row.createdAt.getTime() - clocksDifferMs)} ORDER BY fence`,
  );
  const body = isPurged(row, now) ? undefined : await bodyOf(db, row.eventId, row.createdAt);
  return {
    ...presentDelivery(row, now),
    attempts: attempts.map(presentAttempt),
    ...(body !== undefined && { body: JSON.parse(body) as Record<string, unknown> }),
  };
}

/**
 * Locks deliveries by id, like all code that locks several (ENG-6). The ids are parameters, because with a subquery Postgres might read
 * every partition.
 */
export async function lockDeliveries(tx: Transaction, ids: readonly Id[]): Promise<void> {
  await tx.run(sql`SELECT FROM webhook_deliveries WHERE id = ANY (${ids}) ORDER BY id FOR NO KEY UPDATE`);
}

/** @returns a delivery that is known to exist, in the form that lists show */
export async function readDelivery(tx: Transaction, deliveryId: Id, now: Date): Promise<WebhookDelivery> {
  const row = await tx.one<DeliveryRow>(
    sql`SELECT ${deliveryColumns} FROM webhook_deliveries WHERE id = ${deliveryId}`,
  );
  if (!row) throw notFound('delivery');
  return presentDelivery(row, now);
}

/**
 * Whether the body counts as purged. This is true if the removal of a student has deleted the body, or if the retention time of the body is
 * over. After the retention time, the body may still exist for a while.
 */
const isPurged = ({ removed, createdAt }: DeliveryRow, now: Date) => removed || createdAt <= endOf.bodies(now);

function presentDelivery(row: DeliveryRow, now: Date): WebhookDelivery {
  return {
    id: row.id,
    event_id: row.eventId,
    event_type: row.eventType,
    endpoint_id: row.endpointId,
    status: row.status,
    ...(row.cancelReason !== null && { cancel_reason: row.cancelReason }),
    payload_purged: isPurged(row, now),
    attempt_count: row.attemptCount,
    ...(row.status === 'pending' && { next_attempt_at: row.nextAttemptAt.toISOString() }),
    created_at: row.createdAt.toISOString(),
    ...(row.completedAt !== null && { completed_at: row.completedAt.toISOString() }),
  };
}

function presentAttempt(row: RowOf<typeof attemptColumns>): WebhookAttempt {
  return {
    number: row.number,
    trigger: row.trigger,
    started_at: row.startedAt.toISOString(),
    outcome: row.outcome,
    ...(row.durationMs !== null && { duration_ms: row.durationMs }),
    ...(row.responseStatus !== null && { response_status: row.responseStatus }),
    ...(row.errorCode !== null && { error_code: row.errorCode }),
    ...(row.responseExcerpt !== null && { response_excerpt: row.responseExcerpt }),
    ...(row.retryAfterSeconds !== null && { retry_after_seconds: row.retryAfterSeconds }),
  };
}
