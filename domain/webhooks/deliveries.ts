/** The history of an endpoint: its deliveries, and one of them with its attempts and its body. */
import type { RecordOf } from '../../contract/contract.ts';
import type { DeliveryStatus } from '../../entities/webhooks/webhook-delivery.ts';
import type { Transaction } from '../core/database.ts';
import { notFound } from '../core/errors.ts';
import type { Id } from '../core/ids.ts';
import { windowOf, type Listed, type Page } from '../core/pages.ts';
import type { DeliveredEventType } from '../facts/catalogue.policy.ts';
import type { AttemptOutcome, AttemptTrigger } from './attempts.ts';
import { findEndpoint } from './endpoints.ts';

type WebhookDelivery = RecordOf<'WebhookDelivery'>;
type WebhookDeliveryDetail = RecordOf<'WebhookDeliveryDetail'>;
type WebhookAttempt = RecordOf<'WebhookAttempt'>;

interface DeliveryRow {
  id: Id;
  eventId: Id;
  eventType: DeliveredEventType;
  endpointId: Id;
  status: DeliveryStatus;
  cancelReason: 'expired' | 'student_removed' | null;
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

export interface DeliveryFilter extends Page {
  status?: DeliveryStatus;
  event_type?: DeliveredEventType;
}

/** @returns a page of the endpoint's deliveries, newest first. @throws DomainError not_found for the endpoint */
export async function listDeliveries(
  tx: Transaction,
  clubId: Id,
  endpointId: Id,
  filter: DeliveryFilter,
): Promise<Listed<WebhookDelivery>> {
  await findEndpoint(tx, clubId, endpointId);
  const { limit, offset } = windowOf(filter);
  const where = `endpoint_id = $1 AND ($2::text IS NULL OR status = $2) AND ($3::text IS NULL OR event_type = $3)`;
  const parameters = [endpointId, filter.status ?? null, filter.event_type ?? null];
  const [counted] = await tx.query<{ total: number }[]>(
    `SELECT count(*)::int AS total FROM webhook_deliveries WHERE ${where}`,
    parameters,
  );
  const rows = await tx.query<DeliveryRow[]>(
    `SELECT ${columns} FROM webhook_deliveries WHERE ${where}
      ORDER BY created_at DESC, id DESC LIMIT ${limit} OFFSET ${offset}`,
    parameters,
  );
  return { rows: rows.map(presentDelivery), total: counted?.total ?? 0 };
}

/** @returns one delivery with the attempts that have ended, first to last. @throws DomainError not_found */
export async function findDelivery(
  tx: Transaction,
  clubId: Id,
  endpointId: Id,
  deliveryId: Id,
): Promise<WebhookDeliveryDetail> {
  await findEndpoint(tx, clubId, endpointId);
  const [row] = await tx.query<(DeliveryRow & { body: string | null })[]>(
    `SELECT ${columns}, (SELECT body FROM webhook_events event WHERE event.id = delivery.event_id) AS body
       FROM webhook_deliveries delivery WHERE id = $1 AND endpoint_id = $2`,
    [deliveryId, endpointId],
  );
  if (!row) throw notFound('delivery');
  const attempts = await tx.query<AttemptRow[]>(
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
