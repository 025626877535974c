/** Records attempts that receivers accepted, many in one statement (HOOK-8, HOOK-19). */
import { WebhookEndpoint } from '../../../entities/webhooks/webhook-endpoint.ts';
import { planOnce, type Database, type Transaction } from '../../../platform/infra/postgres/database.ts';
import type { DeliveredEventType } from '../../../platform/core/event-types.ts';
import { gathered } from '../../../platform/core/gathered.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { LeaseLost } from '../../../platform/engine/lease.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { forRecord } from '../../../platform/infra/postgres/shared-pool.ts';
import { raw, sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import { writeTogether } from '../../../platform/infra/postgres/write-together.ts';
import { callGate, wakeSuccessor } from '../deliveries/wakes.ts';
import { deliveryRules } from '../deliveries/schedule.policy.ts';
import { isThrottled, resetBreaker } from '../endpoints/breaker.policy.ts';
import type { Claim } from './claims.ts';
import type { AttemptAnswer } from './post.ts';
import { lockEndpoint, mayKeepExcerpt, unlessLost, writeAttempt, writeBreaker } from './record-rows.ts';

/** The minimum time between two writes of a healthy endpoint's `last_success_at`, in milliseconds. */
const successEveryMs = 5_000;

interface Accepted {
  id: Id;
  claim: Claim;
  answer: AttemptAnswer;
  now: Date;
}

/** @returns false if the claim was lost or the student was removed during the attempt */
export type RecordSuccess = (id: Id, claim: Claim, answer: AttemptAnswer, now: Date) => Promise<boolean>;

/**
 * If one write takes longer than this time, in milliseconds, the next write no longer waits for it. The database connection of the slow
 * write may have stalled, and leases would end during a longer wait.
 */
export const recordHoldsMs = 1_000;

/**
 * @param onBatch a function that receives the number of successes that one statement recorded
 * @returns the writer of a process. Successes that arrive during a write go into the next statement. A success that the statement skips is
 * recorded alone.
 */
export function createSuccessWriter(db: Database, onBatch: (size: number) => void = () => {}): RecordSuccess {
  const write = (accepted: readonly Accepted[]) => recordTogether(db, accepted, onBatch);
  const together = gathered((accepted: readonly Accepted[]) => forRecord(() => writeTogether(accepted, write)), {
    atOnce: 2,
    holdsOthersMs: recordHoldsMs,
  });
  return async (id, claim, answer, now) => {
    const accepted = { id, claim, answer, now };
    const recorded = claim.trigger === 'schedule' ? await together(accepted) : undefined;
    if (recorded && 'error' in recorded) throw recorded.error;
    return recorded?.result ? recorded.result.status === 'succeeded' : recordAlone(db, accepted);
  };
}

async function recordAlone(db: Database, { id, claim, answer, now }: Accepted): Promise<boolean> {
  const recorded = await unlessLost(db, async (tx) => {
    const endpoint = await lockEndpoint(tx, claim.endpointId);
    const { status, manual, eventType } = await writeSuccess(tx, id, claim, now);
    await writeAttempt(tx, id, claim, answer);
    await tx.manager.update(WebhookEndpoint, { id: claim.endpointId }, { lastSuccessAt: now });
    await writeBreaker(tx, id, claim, endpoint, resetBreaker(endpoint), now);
    if (isThrottled(endpoint) || claim.trigger === 'recovery') await callGate(tx, claim, now);
    const { clubId, endpointId } = claim;
    if (claim.direct && manual) await wakeSuccessor(tx, claim, { id, clubId, endpointId, eventType, manual }, now);
    return status;
  });
  return recorded === 'succeeded';
}

/**
 * Records scheduled attempts at healthy endpoints in one statement that waits for no lock. In the rows of these endpoints, only
 * `last_success_at` changes.
 * @returns the status of each delivery; undefined if it was skipped, because the endpoint has failures, the claim is lost, a manual attempt
 * is requested, or a row is locked
 */
async function recordTogether(
  db: Database,
  accepted: readonly Accepted[],
  onBatch: (size: number) => void,
): Promise<({ status: string } | undefined)[]> {
  const ids = accepted.map(({ id }) => id);
  const sortedIds = ids.toSorted();
  const times = accepted.map(({ claim }) => claim.startedAt.getTime());
  const values = {
    ids,
    fences: accepted.map(({ claim }) => claim.fence),
    times: accepted.map(({ now }) => now),
    durations: accepted.map(({ answer }) => answer.durationMs),
    statuses: accepted.map(({ answer }) => answer.responseStatus ?? null),
    excerpts: accepted.map(({ answer }) => answer.responseExcerpt ?? null),
    endpointIds: accepted.map(({ claim }) => claim.endpointId),
    successEverySeconds: successEveryMs / 1_000,
    starts: accepted.map(({ claim }) => claim.startedAt),
    lowestId: sortedIds[0],
    highestId: sortedIds.at(-1),
    firstStart: new Date(Math.min(...times)),
    lastStart: new Date(Math.max(...times)),
  };
  const rows = await db.transaction(async (tx) => {
    await planOnce(tx);
    return recordSucceeded(tx, values);
  });
  onBatch(accepted.length);
  const statuses = new Map(rows.map(({ id, fence, status }) => [`${id} ${fence}`, { status }]));
  return accepted.map(({ id, claim }) => statuses.get(`${id} ${claim.fence}`));
}

/**
 * The assignments of the UPDATE that records a 2xx response. The delivery has succeeded, even if its endpoint was disabled during the
 * attempt. But if the delivery was canceled by a removal or an expiry, it stays canceled. If a resend was requested during the attempt, the
 * resend still follows. If a recovery was requested, no further attempt follows.
 */
const succeeded = (now: Sql) => sql`
  lease_until = NULL, in_flight = NULL, direct = false, attempt_count = attempt_count + 1, interruptions = 0,
  schedule_position = schedule_position + CASE WHEN status = 'pending' AND schedule_position < ${raw(String(deliveryRules.attempts))} THEN 1 ELSE 0 END,
  requested = CASE WHEN requested = 'manual' AND cancel_reason IS NULL THEN requested END,
  parked_at = CASE WHEN requested = 'manual' AND cancel_reason IS NULL THEN parked_at END,
  status = CASE WHEN cancel_reason IS NULL THEN 'succeeded' ELSE status END,
  completed_at = CASE WHEN cancel_reason IS NULL THEN ${now}::timestamptz ELSE completed_at END`;

/** Accepted attempts by column, with the bounds of their ids and times. */
interface AcceptedValues {
  ids: readonly Id[];
  fences: readonly number[];
  times: readonly Date[];
  /** In milliseconds. */
  durations: readonly (number | null)[];
  statuses: readonly (number | null)[];
  excerpts: readonly (string | null)[];
  endpointIds: readonly Id[];
  successEverySeconds: number;
  starts: readonly Date[];
  lowestId: Id | undefined;
  highestId: Id | undefined;
  firstStart: Date;
  lastStart: Date;
}

/** The endpoint's breaker needs no reset. */
const isHealthy = 'consecutive_failures = 0 AND breaker_step = 0';

/**
 * Locks endpoints before deliveries, in the order of their ids, and skips rows that another transaction holds (ENG-6). The row of the
 * endpoint is written only if it changes. Because of the bounds of the ids and times, Postgres reads only some partitions.
 */
const recordSucceeded = prepared<{ id: Id; fence: number; status: string }, AcceptedValues>(
  'record_succeeded',
  (value) => `WITH accepted AS MATERIALIZED (
       SELECT given.* FROM unnest(${value.ids}::uuid[], ${value.fences}::int[], ${value.times}::timestamptz[], ${value.durations}::int[], ${value.statuses}::smallint[], ${value.excerpts}::text[], ${value.endpointIds}::uuid[], ${value.starts}::timestamptz[])
           AS given (id, claim_fence, at, duration_ms, response_status, response_excerpt, endpoint, started_at)
         -- Finds each row by its own index lookup. In a join, Postgres may scan every partition as long as it does not know the sizes of
         -- the partitions.
         CROSS JOIN LATERAL (
           SELECT fence, lease_until, requested FROM webhook_deliveries WHERE id = given.id AND id BETWEEN ${value.lowestId} AND ${value.highestId} OFFSET 0) delivery
        WHERE delivery.fence = given.claim_fence AND delivery.lease_until IS NOT NULL AND delivery.requested IS NULL),
     noted AS (
       UPDATE webhook_endpoints SET last_success_at = latest.at
         FROM (SELECT endpoint.id, newest.at FROM webhook_endpoints endpoint
                 JOIN (SELECT endpoint AS id, max(at) AS at FROM accepted GROUP BY endpoint) newest USING (id)
                WHERE ${isHealthy} AND (last_success_at IS NULL OR last_success_at < newest.at - make_interval(secs => ${value.successEverySeconds}))
                ORDER BY endpoint.id FOR NO KEY UPDATE OF endpoint SKIP LOCKED) latest
        WHERE webhook_endpoints.id = latest.id
    RETURNING 1),
     free AS MATERIALIZED (
       SELECT delivery.id FROM webhook_deliveries delivery JOIN accepted ON accepted.id = delivery.id AND accepted.claim_fence = delivery.fence
        WHERE delivery.lease_until IS NOT NULL AND delivery.requested IS NULL AND (SELECT count(*) FROM noted) >= 0
          AND delivery.id BETWEEN ${value.lowestId} AND ${value.highestId}
          AND EXISTS (SELECT FROM webhook_endpoints WHERE id = accepted.endpoint AND ${isHealthy})
        ORDER BY delivery.id FOR NO KEY UPDATE OF delivery SKIP LOCKED),
     delivery AS (
       UPDATE webhook_deliveries delivery
          SET ${succeeded(raw('accepted.at')).render([])}
         FROM free JOIN accepted USING (id)
        WHERE delivery.id = free.id AND delivery.id BETWEEN ${value.lowestId} AND ${value.highestId} AND delivery.fence = accepted.claim_fence
    RETURNING delivery.id, delivery.fence, delivery.status, delivery.payload_purged_at, delivery.event_type),
     attempt AS (
       UPDATE webhook_attempts attempt
          SET outcome = 'succeeded', duration_ms = accepted.duration_ms, response_status = accepted.response_status,
              response_excerpt = CASE WHEN ${mayKeepExcerpt} THEN accepted.response_excerpt END
         FROM delivery JOIN accepted USING (id)
        WHERE attempt.delivery_id = delivery.id AND attempt.fence = delivery.fence AND attempt.started_at = accepted.started_at
          AND attempt.started_at BETWEEN ${value.firstStart} AND ${value.lastStart})
     SELECT id, fence, status FROM delivery`,
);

async function writeSuccess(
  tx: Transaction,
  id: Id,
  claim: Claim,
  now: Date,
): Promise<{ status: string; manual: boolean; eventType: DeliveredEventType }> {
  const delivery = await tx.one<{ status: string; manual: boolean; eventType: DeliveredEventType }>(
    sql`UPDATE webhook_deliveries SET ${succeeded(sql`${now}`)}
         WHERE id = ${id} AND fence = ${claim.fence} AND lease_until IS NOT NULL
     RETURNING status, requested IS NOT NULL AS manual, event_type AS "eventType"`,
  );
  if (!delivery) throw new LeaseLost();
  return delivery;
}
