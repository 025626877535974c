/** Records the outcome of an attempt, where its claim still holds (ENG-2, HOOK-7). */
import { WebhookEndpoint } from '../../../entities/webhooks/webhook-endpoint.ts';
import { planOnce, type Database, type Transaction } from '../../../platform/infra/postgres/database.ts';
import type { DeliveryStatus } from '../../../entities/webhooks/values.ts';
import type { DeliveredEventType } from '../../../platform/core/event-types.ts';
import { gathered } from '../../../platform/core/gathered.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { forRecord } from '../../../platform/infra/postgres/shared-pool.ts';
import { columns, raw, sql, type RowOf, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { Vault } from '../../../platform/infra/vault.ts';
import { writeTogether } from '../../../platform/infra/postgres/write-together.ts';
import {
  afterFailure,
  failingDeadline,
  isThrottled,
  mailIsDue,
  overloadHold,
  resetBreaker,
  type Breaker,
} from '../endpoints/breaker.policy.ts';
import type { Claim } from './attempt.ts';
import { callGate, wakeInPlaceOf } from '../deliveries/wakes.ts';
import { failureCause } from './failure-causes.ts';
import type { DeliveryStep } from './state.ts';
import type { AttemptAnswer } from './post.ts';
import { closeEndpoint, mailAdministrators } from '../queues/close-endpoint.ts';
import { deliveryRules, waitAfterAttempt } from '../deliveries/schedule.policy.ts';
import { LeaseLost } from '../../../platform/engine/lease.ts';

/** How often `last_success_at` of a healthy endpoint is written, at most. */
const successEveryMs = 5_000;

/** What a receiver says may quote a person who was removed: also in the answer to `student.removed`, which has no words itself. */
const mayKeepExcerpt = `delivery.payload_purged_at IS NULL AND delivery.event_type <> 'student.removed'`;

/** An attempt that a receiver accepted. */
interface Accepted {
  id: Id;
  claim: Claim;
  answer: AttemptAnswer;
  now: Date;
}

/** @returns whether the delivery has succeeded by it; false where the claim was lost, or its student was removed meanwhile */
export type RecordSuccess = (id: Id, claim: Claim, answer: AttemptAnswer, now: Date) => Promise<boolean>;

/** A record that lasts so long, in milliseconds, no longer holds the next one: its connection stands still, and leases would run out. */
export const recordHoldsMs = 1_000;

/**
 * @param onBatch gets how many successes went in a statement
 * @returns the writer of a process: what is accepted while it writes goes into its next statement. What that leaves goes alone.
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
    const { status, asked, eventType } = await writeSuccess(tx, id, claim, now);
    await writeAttempt(tx, id, claim, answer);
    await tx.manager.update(WebhookEndpoint, { id: claim.endpointId }, { lastSuccessAt: now });
    await writeBreaker(tx, id, claim, endpoint, resetBreaker(endpoint), now);
    if (isThrottled(endpoint) || claim.trigger === 'recovery') await callGate(tx, claim, now);
    const { clubId, endpointId } = claim;
    if (claim.direct && asked) await wakeInPlaceOf(tx, claim, { id, clubId, endpointId, eventType, asked }, now);
    return status;
  });
  return recorded === 'succeeded';
}

/**
 * Scheduled attempts at endpoints whose rows need no change but, now and then, `last_success_at`: one statement with one plan, which
 * waits for no lock.
 * @returns the status of each delivery; undefined for each of which nothing was written: its endpoint fails, its claim is lost, more is asked for, or it is held
 */
async function recordTogether(
  db: Database,
  accepted: readonly Accepted[],
  onBatch: (size: number) => void,
): Promise<({ status: string } | undefined)[]> {
  const ids = accepted.map(({ id }) => id);
  const sortedIds = ids.toSorted();
  const times = accepted.map(({ claim }) => claim.startedAt.getTime());
  const values = [
    ids,
    accepted.map(({ claim }) => claim.fence),
    accepted.map(({ now }) => now),
    accepted.map(({ answer }) => answer.durationMs),
    accepted.map(({ answer }) => answer.responseStatus ?? null),
    accepted.map(({ answer }) => answer.responseExcerpt ?? null),
    accepted.map(({ claim }) => claim.endpointId),
    successEveryMs / 1_000,
    accepted.map(({ claim }) => claim.startedAt),
    sortedIds[0],
    sortedIds.at(-1),
    new Date(Math.min(...times)),
    new Date(Math.max(...times)),
  ];
  const rows = await db.transaction(async (tx) => {
    await planOnce(tx);
    return recordSucceeded(tx, values);
  });
  onBatch(accepted.length);
  const statuses = new Map(rows.map(({ id, fence, status }) => [`${id} ${fence}`, { status }]));
  return accepted.map(({ id, claim }) => statuses.get(`${id} ${claim.fence}`));
}

/**
 * A 2xx makes good whatever the delivery was, also one that was canceled by disabling its endpoint while the attempt was
 * in flight. One canceled by its student's removal, or expired, stays canceled. A resend that was asked for meanwhile is
 * still made; a recovery has what it wanted.
 */
const succeeded = (now: Sql) => sql`
  lease_until = NULL, in_flight = NULL, direct = false, attempt_count = attempt_count + 1, interruptions = 0,
  schedule_position = schedule_position + CASE WHEN status = 'pending' AND schedule_position < ${raw(String(deliveryRules.attempts))} THEN 1 ELSE 0 END,
  requested = CASE WHEN requested = 'manual' AND cancel_reason IS NULL THEN requested END,
  parked_at = CASE WHEN requested = 'manual' AND cancel_reason IS NULL THEN parked_at END,
  status = CASE WHEN cancel_reason IS NULL THEN 'succeeded' ELSE status END,
  completed_at = CASE WHEN cancel_reason IS NULL THEN ${now}::timestamptz ELSE completed_at END`;

/** The breaker has nothing to reset. */
const isHealthy = 'consecutive_failures = 0 AND breaker_step = 0';

/**
 * Endpoints are locked before deliveries, in the order of their ids, and whatever somebody holds is passed over (ENG-6). The endpoint's
 * row is written only where it says something new. Ids and times have bounds, too: only the partitions between them are looked at.
 */
const recordSucceeded = prepared<{ id: Id; fence: number; status: string }>(
  'record_succeeded',
  `WITH accepted AS MATERIALIZED (
       SELECT given.* FROM unnest($1::uuid[], $2::int[], $3::timestamptz[], $4::int[], $5::smallint[], $6::text[], $7::uuid[], $9::timestamptz[])
           AS given (id, claimed_as, at, duration_ms, response_status, response_excerpt, endpoint, started_at)
         -- Each by itself: a join may read every partition from end to end, where Postgres does not know their sizes yet.
         CROSS JOIN LATERAL (
           SELECT fence, lease_until, requested FROM webhook_deliveries WHERE id = given.id AND id BETWEEN $10 AND $11 OFFSET 0) delivery
        WHERE delivery.fence = given.claimed_as AND delivery.lease_until IS NOT NULL AND delivery.requested IS NULL),
     told AS (
       UPDATE webhook_endpoints SET last_success_at = latest.at
         FROM (SELECT endpoint.id, newest.at FROM webhook_endpoints endpoint
                 JOIN (SELECT endpoint AS id, max(at) AS at FROM accepted GROUP BY endpoint) newest USING (id)
                WHERE ${isHealthy} AND (last_success_at IS NULL OR last_success_at < newest.at - make_interval(secs => $8))
                ORDER BY endpoint.id FOR NO KEY UPDATE OF endpoint SKIP LOCKED) latest
        WHERE webhook_endpoints.id = latest.id
    RETURNING 1),
     free AS MATERIALIZED (
       SELECT delivery.id FROM webhook_deliveries delivery JOIN accepted ON accepted.id = delivery.id AND accepted.claimed_as = delivery.fence
        WHERE delivery.lease_until IS NOT NULL AND delivery.requested IS NULL AND (SELECT count(*) FROM told) >= 0
          AND delivery.id BETWEEN $10 AND $11
          AND EXISTS (SELECT FROM webhook_endpoints WHERE id = accepted.endpoint AND ${isHealthy})
        ORDER BY delivery.id FOR NO KEY UPDATE OF delivery SKIP LOCKED),
     delivery AS (
       UPDATE webhook_deliveries delivery
          SET ${succeeded(raw('accepted.at')).render([])}
         FROM free JOIN accepted USING (id)
        WHERE delivery.id = free.id AND delivery.id BETWEEN $10 AND $11 AND delivery.fence = accepted.claimed_as
    RETURNING delivery.id, delivery.fence, delivery.status, delivery.payload_purged_at, delivery.event_type),
     attempt AS (
       UPDATE webhook_attempts attempt
          SET outcome = 'succeeded', duration_ms = accepted.duration_ms, response_status = accepted.response_status,
              response_excerpt = CASE WHEN ${mayKeepExcerpt} THEN accepted.response_excerpt END
         FROM delivery JOIN accepted USING (id)
        WHERE attempt.delivery_id = delivery.id AND attempt.fence = delivery.fence AND attempt.started_at = accepted.started_at
          AND attempt.started_at BETWEEN $12 AND $13)
     SELECT id, fence, status FROM delivery`,
);

async function writeSuccess(
  tx: Transaction,
  id: Id,
  claim: Claim,
  now: Date,
): Promise<{ status: string; asked: boolean; eventType: DeliveredEventType }> {
  const delivery = await tx.one<{ status: string; asked: boolean; eventType: DeliveredEventType }>(
    sql`UPDATE webhook_deliveries SET ${succeeded(sql`${now}`)}
         WHERE id = ${id} AND fence = ${claim.fence} AND lease_until IS NOT NULL
     RETURNING status, requested IS NOT NULL AS asked, event_type AS "eventType"`,
  );
  if (!delivery) throw new LeaseLost();
  return delivery;
}

export interface RecordDeps {
  db: Database;
  vault: Vault;
  /** From 0 up to 1, for the variation of the waits. */
  random: () => number;
}

/**
 * @param answer undefined when the number was interrupted too often: nothing was posted, and the endpoint is not to blame
 * @returns what the delivery waits for, or how it ended; undefined where that has to be read
 */
export async function recordFailure(
  { db, vault, random }: RecordDeps,
  id: Id,
  claim: Claim,
  answer: AttemptAnswer | undefined,
  now: Date,
): Promise<DeliveryStep | undefined> {
  const jitter = random();
  return unlessLost(db, async (tx) => {
    const endpoint = await lockEndpoint(tx, claim.endpointId);
    const delivery = await writeFailure(tx, id, claim, answer, now, jitter);
    await writeAttempt(tx, id, claim, answer);

    const overloadMs = answer && overloadHold({ ...answer, waitMs: waitAfter(claim, answer, jitter) });
    const { breaker, armed } = answer
      ? afterFailure(endpoint, claim.breakerEpoch, now, overloadMs)
      : { breaker: endpoint, armed: false };
    // A disabled endpoint is not failing any more: it was given up, and begins anew when it is set enabled.
    if (endpoint.status !== 'disabled') await writeBreaker(tx, id, claim, endpoint, breaker, now);
    const target = { id: claim.endpointId, clubId: claim.clubId };
    if (endpoint.status !== 'disabled' && answer?.responseStatus === statusGone) {
      await closeEndpoint(tx, vault, target, 'gone', now);
      return undefined; // which has canceled the delivery
    }
    if (endpoint.status !== 'disabled' && mailIsDue(breaker, now)) {
      await mailAdministrators(tx, vault, target, 'webhook_endpoint_throttled', now);
      await tx.manager.update(WebhookEndpoint, { id: claim.endpointId }, { throttleMailedAt: now });
    }
    const deadline = failingDeadline({ ...endpoint, failingSince: breaker.failingSince });
    if (endpoint.status === 'enabled' && answer && deadline && deadline <= now) {
      await closeEndpoint(tx, vault, target, 'failing', now);
      return undefined; // which has canceled the delivery
    } else if (armed || endpoint.admittedDeliveryId === id || claim.trigger === 'recovery') {
      await callGate(tx, claim, now);
    }
    const step = stepAfterFailure(delivery, now);
    if (claim.direct && !step?.done) {
      const { eventType, asked } = delivery;
      await wakeInPlaceOf(tx, claim, { id, clubId: claim.clubId, endpointId: claim.endpointId, eventType, asked }, now);
    }
    return step;
  });
}

/** The receiver says that the address is not used any more. */
const statusGone = 410;

/** @returns milliseconds until the next attempt of the schedule; undefined if there is none */
function waitAfter(claim: Claim, answer: AttemptAnswer | undefined, jitter: number): number | undefined {
  if (!claim.onSchedule) return undefined;
  return waitAfterAttempt(claim.schedulePosition, { jitter, retryAfterSeconds: answer?.retryAfterSeconds });
}

async function writeFailure(
  tx: Transaction,
  id: Id,
  claim: Claim,
  answer: AttemptAnswer | undefined,
  now: Date,
  jitter: number,
): Promise<DeliveryAfter> {
  const wait = waitAfter(claim, answer, jitter);
  // What is not on the schedule is attempted once: a recovery fails by it, a resend leaves the state as it was.
  const fails = claim.onSchedule ? wait === undefined : claim.trigger === 'recovery';
  // What was asked for meanwhile is made at once, whatever the schedule says; a recovery then has its one attempt before it.
  const itFails = sql`status = 'pending' AND requested IS DISTINCT FROM 'recovery' AND ${fails}`;
  const dueAt = wait === undefined ? null : new Date(now.getTime() + wait);
  const delivery = await tx.one<DeliveryAfter>(
    sql`UPDATE webhook_deliveries
        SET lease_until = NULL, in_flight = NULL, direct = false, attempt_count = attempt_count + 1, interruptions = 0,
            schedule_position = ${claim.onSchedule ? claim.schedulePosition : claim.schedulePosition - 1},
            next_attempt_at = CASE WHEN requested IS NULL THEN coalesce(${dueAt}, next_attempt_at) ELSE next_attempt_at END,
            -- Another worker may have parked it after the lease was over. What has ended waits for no gate.
            parked_at = CASE WHEN requested IS NOT NULL OR (status = 'pending' AND NOT (${itFails})) THEN parked_at END,
            status = CASE WHEN ${itFails} THEN 'failed' ELSE status END,
            completed_at = CASE WHEN ${itFails} THEN ${now} ELSE completed_at END
      WHERE id = ${id} AND fence = ${claim.fence} AND lease_until IS NOT NULL
  RETURNING status, next_attempt_at AS "dueAt", created_at AS "createdAt", requested IS NOT NULL AS asked,
            attempt_count + 1 AS attempt, event_type AS "eventType"`,
  );
  // Somebody else's fence: this attempt was given up as interrupted, and its endpoint must not be charged for it twice.
  if (!delivery) throw new LeaseLost();
  return delivery;
}

/** What a failure leaves of a delivery. */
interface DeliveryAfter {
  status: DeliveryStatus;
  dueAt: Date;
  createdAt: Date;
  /** An attempt was asked for by hand meanwhile. */
  asked: boolean;
  /** The number of the next attempt. */
  attempt: number;
  eventType: DeliveredEventType;
}

/** @returns what the delivery waits for, or how it ended; undefined where that has to be read */
function stepAfterFailure(
  { status, dueAt, createdAt, asked, attempt }: DeliveryAfter,
  now: Date,
): DeliveryStep | undefined {
  if (asked) return undefined;
  if (status !== 'pending') return { done: true, outcome: status };
  const expiresAt = createdAt.getTime() + deliveryRules.expiryMs;
  const at = Math.min(dueAt.getTime(), expiresAt);
  return at > now.getTime() ? { done: false, waitingFor: 'attempt', at, attempt } : undefined;
}

async function writeAttempt(tx: Transaction, id: Id, claim: Claim, answer: AttemptAnswer | undefined): Promise<void> {
  await tx.run(
    sql`UPDATE webhook_attempts attempt
        SET outcome = ${answer?.outcome ?? 'interrupted'}, duration_ms = ${answer?.durationMs ?? null},
            response_status = ${answer?.responseStatus ?? null}, error_code = ${(answer && failureCause(answer)) ?? null},
            retry_after_seconds = ${answer?.retryAfterSeconds ?? null},
            response_excerpt = CASE WHEN ${raw(mayKeepExcerpt)} THEN ${answer?.responseExcerpt ?? null} END
       FROM webhook_deliveries delivery
      WHERE delivery.id = ${id}
        AND attempt.delivery_id = ${id} AND attempt.fence = ${claim.fence} AND attempt.started_at = ${claim.startedAt}`,
  );
}

const locked = columns(WebhookEndpoint, [
  'status',
  'enabledAt',
  'admittedDeliveryId',
  'consecutiveFailures',
  'failingSince',
  'holdUntil',
  'breakerStep',
  'breakerEpoch',
  'throttledSince',
  'throttleMailedAt',
]);
type LockedEndpoint = RowOf<typeof locked>;

async function lockEndpoint(tx: Transaction, endpointId: Id): Promise<LockedEndpoint> {
  const endpoint = await tx.one<LockedEndpoint>(
    sql`SELECT ${locked} FROM webhook_endpoints WHERE id = ${endpointId} FOR NO KEY UPDATE`,
  );
  if (!endpoint) throw new LeaseLost(); // deleted, and the delivery with it
  return endpoint;
}

/**
 * Armed, it gets a gate: `gate_looks_at` says that one has to run, and by when it will have looked; opened, at once. Either
 * way what has parked begins to go at a page of one.
 */
async function writeBreaker(
  tx: Transaction,
  id: Id,
  { endpointId }: Claim,
  before: LockedEndpoint,
  after: Breaker,
  now: Date,
): Promise<void> {
  const armed = isThrottled(after) && after.breakerEpoch !== before.breakerEpoch;
  // A new wait is for everybody: what was let through and has not begun parks again, what is in flight is over by its end,
  // because a wait outlasts a lease.
  const keepsAdmitted = isThrottled(after) && !armed && before.admittedDeliveryId !== id;
  const gateLooksAt = armed ? after.holdUntil : isThrottled(before) && !isThrottled(after) ? now : null;
  await tx.manager.update(
    WebhookEndpoint,
    { id: endpointId },
    {
      consecutiveFailures: after.consecutiveFailures,
      failingSince: after.failingSince,
      holdUntil: after.holdUntil,
      breakerStep: after.breakerStep,
      breakerEpoch: after.breakerEpoch,
      throttledSince: after.throttledSince,
      throttleMailedAt: after.throttleMailedAt,
      admittedDeliveryId: keepsAdmitted ? before.admittedDeliveryId : null,
      ...(gateLooksAt !== null && { gateLooksAt, releasePage: 0 }),
    },
  );
}

/** @returns what `work` says; undefined where the claim was lost, and everything that it wrote is rolled back */
async function unlessLost<T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T | undefined> {
  try {
    return await db.transaction(work);
  } catch (error) {
    if (error instanceof LeaseLost) return undefined;
    throw error;
  }
}
