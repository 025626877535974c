/** The history of an endpoint: its deliveries, and one of them with its attempts and its body. */
import type { RecordOf } from '../../../contract/contract.ts';
import type {
  AttemptOutcome,
  AttemptTrigger,
  CancelReason,
  DeliveryStatus,
} from '../../../entities/webhooks/values.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { windowOf, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import type { DeliveredEventType } from '../../../platform/core/event-types.ts';
import { requireEndpoint, noEndpoint } from '../endpoints/endpoints.ts';
import { counting, selection, type Bind } from './tallies.ts';

type WebhookDelivery = RecordOf<'WebhookDelivery'>;
type WebhookDeliveryDetail = RecordOf<'WebhookDeliveryDetail'>;
type WebhookAttempt = RecordOf<'WebhookAttempt'>;

interface DeliveryRow {
  id: Id;
  eventId: Id;
  eventType: DeliveredEventType;
  endpointId: Id;
  status: DeliveryStatus;
  cancelReason: CancelReason | null;
  payloadPurged: boolean;
  attemptCount: number;
  nextAttemptAt: Date;
  createdAt: Date;
  completedAt: Date | null;
}

interface AttemptRow {
  number: number;
  trigger: AttemptTrigger;
  startedAt: Date;
  outcome: AttemptOutcome;
  durationMs: number | null;
  responseStatus: number | null;
  responseExcerpt: string | null;
  retryAfterSeconds: number | null;
}

const columns = `id, event_id AS "eventId", event_type AS "eventType", endpoint_id AS "endpointId", status,
  cancel_reason AS "cancelReason", payload_purged_at IS NOT NULL AS "payloadPurged", attempt_count AS "attemptCount",
  next_attempt_at AS "nextAttemptAt", created_at AS "createdAt", completed_at AS "completedAt"`;

export interface DeliveryFilter extends PageRequest {
  status?: DeliveryStatus;
  event_type?: DeliveredEventType;
  /** Created then or later: an ISO 8601 date-time. */
  since?: string;
  /** Created before: an ISO 8601 date-time. */
  until?: string;
}

/**
 * One statement: the page and the total are of one moment.
 * @returns a page of the endpoint's deliveries, newest first, by id where they are of one instant
 * @throws DomainError not_found for the endpoint; invalid_request for a time that is none, or an `until` before `since`
 */
export async function listDeliveries(
  db: Queries,
  clubId: Id,
  endpointId: Id,
  filter: DeliveryFilter,
): Promise<Page<WebhookDelivery>> {
  const { limit, offset } = windowOf(filter);
  const { status, event_type: eventType } = filter;
  const selected = {
    endpointId,
    ...(status !== undefined && { status }),
    ...(eventType !== undefined && { eventType }),
    ...timesOf(filter),
  };
  const newest = `ORDER BY created_at DESC, id DESC LIMIT ${offset + limit}`;
  const parameters: unknown[] = [];
  const bind: Bind = (value) => `$${parameters.push(value)}`;
  const rows = await db.query<(({ total: number } & DeliveryRow) | { total: number; id: null })[]>(
    `SELECT endpoint.total, page.*
       FROM (SELECT ${counting(selected, bind)} AS total FROM webhook_endpoints
              WHERE id = ${bind(endpointId)} AND club_id = ${bind(clubId)} AND deleted_at IS NULL) endpoint
       LEFT JOIN (SELECT * FROM (${selection(columns, selected, bind, newest)}) AS found
                   ORDER BY "createdAt" DESC, id DESC LIMIT ${limit} OFFSET ${offset}) page ON true
      ORDER BY page."createdAt" DESC, page.id DESC`,
    parameters,
  );
  const [first] = rows;
  if (!first) throw noEndpoint();
  return { rows: rows.flatMap((row) => (row.id === null ? [] : [presentDelivery(row)])), total: first.total };
}

function timesOf({ since, until }: { since?: string; until?: string }): { since: number; until: number } {
  const times = {
    since: since === undefined ? -Infinity : millisecondsOf(since),
    until: until === undefined ? Infinity : millisecondsOf(until),
  };
  if (times.until < times.since) throw new DomainError('invalid_request', 'until must not be before since.');
  return times;
}

/** Deliveries are created at whole milliseconds: a finer time stands for the next one, on whichever side it is. */
function millisecondsOf(text: string): number {
  const at = Date.parse(text.toUpperCase());
  return /\.\d{3}\d*[1-9]/.test(text) ? at + 1 : at;
}

/** @returns one delivery with the attempts that have ended, first to last. @throws DomainError not_found */
export async function findDelivery(
  db: Queries,
  clubId: Id,
  endpointId: Id,
  deliveryId: Id,
): Promise<WebhookDeliveryDetail> {
  await requireEndpoint(db, clubId, endpointId);
  const [row] = await db.query<(DeliveryRow & { body: string | null })[]>(
    `SELECT ${columns}, (SELECT body FROM webhook_events event WHERE event.id = delivery.event_id) AS body
       FROM webhook_deliveries delivery WHERE id = $1 AND endpoint_id = $2`,
    [deliveryId, endpointId],
  );
  if (!row) throw notFound('delivery');
  const attempts = await db.query<AttemptRow[]>(
    `SELECT number, trigger, started_at AS "startedAt", outcome, duration_ms AS "durationMs",
            response_status AS "responseStatus", response_excerpt AS "responseExcerpt",
            retry_after_seconds AS "retryAfterSeconds"
       FROM webhook_attempts WHERE delivery_id = $1 AND outcome IS NOT NULL ORDER BY fence`,
    [deliveryId],
  );
  return {
    ...presentDelivery(row),
    attempts: attempts.map(presentAttempt),
    ...(row.body !== null && !row.payloadPurged && { body: JSON.parse(row.body) as Record<string, unknown> }),
  };
}

/** @returns a delivery that is known to exist, as lists show it */
export async function readDelivery(tx: Transaction, deliveryId: Id): Promise<WebhookDelivery> {
  const [row] = await tx.query<DeliveryRow[]>(`SELECT ${columns} FROM webhook_deliveries WHERE id = $1`, [deliveryId]);
  if (!row) throw notFound('delivery');
  return presentDelivery(row);
}

function presentDelivery(row: DeliveryRow): WebhookDelivery {
  return {
    id: row.id,
    event_id: row.eventId,
    event_type: row.eventType,
    endpoint_id: row.endpointId,
    status: row.status,
    ...(row.cancelReason !== null && { cancel_reason: row.cancelReason }),
    payload_purged: row.payloadPurged,
    attempt_count: row.attemptCount,
    ...(row.status === 'pending' && { next_attempt_at: row.nextAttemptAt.toISOString() }),
    created_at: row.createdAt.toISOString(),
    ...(row.completedAt !== null && { completed_at: row.completedAt.toISOString() }),
  };
}

function presentAttempt(row: AttemptRow): WebhookAttempt {
  return {
    number: row.number,
    trigger: row.trigger,
    started_at: row.startedAt.toISOString(),
    outcome: row.outcome,
    ...(row.durationMs !== null && { duration_ms: row.durationMs }),
    ...(row.responseStatus !== null && { response_status: row.responseStatus }),
    ...(row.responseExcerpt !== null && { response_excerpt: row.responseExcerpt }),
    ...(row.retryAfterSeconds !== null && { retry_after_seconds: row.retryAfterSeconds }),
  };
}
