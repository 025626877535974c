/** Records the outcome of an attempt, where its claim still holds (ENG-2, HOOK-7). */
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import type { Vault } from '../../../platform/infra/vault.ts';
import { afterFailure, failingDeadline, isThrottled, resetBreaker, type Breaker } from '../endpoints/breaker.policy.ts';
import type { Claim } from './attempts.ts';
import { callGate } from '../wakes.ts';
import type { AttemptAnswer } from './post.ts';
import { closeEndpoint } from '../endpoints/queue.ts';
import { deliveryRules, waitAfterAttempt } from './schedule.policy.ts';
import { LeaseLost } from '../../../platform/engine/lease.ts';

/** How often `last_success_at` of a healthy endpoint is written, at most. */
const successEveryMs = 5_000;

/** @returns whether the delivery has succeeded by it; false where the claim was lost, or its student was removed meanwhile */
export async function recordSuccess(
  db: Database,
  id: Id,
  claim: Claim,
  answer: AttemptAnswer,
  now: Date,
): Promise<boolean> {
  if (claim.trigger === 'schedule') {
    const status = await recordAtHealthyEndpoint(db, id, claim, answer, now);
    if (status !== undefined) return status === 'succeeded';
  }
  return unlessLost(db, async (tx) => {
    const endpoint = await lockEndpoint(tx, claim.endpointId);
    const status = await writeSuccess(tx, id, claim, now);
    await writeAttempt(tx, id, claim, answer);
    await tx.query(`UPDATE webhook_endpoints SET last_success_at = $2 WHERE id = $1`, [claim.endpointId, now]);
    await writeBreaker(tx, id, claim, endpoint, resetBreaker(endpoint), now);
    if (isThrottled(endpoint) || claim.trigger === 'recovery') await callGate(tx, claim, now);
    return status === 'succeeded';
  });
}

/**
 * A scheduled attempt at an endpoint that has nothing to be told but, now and then, `last_success_at`: one statement. The
 * endpoint, where it is written, is locked before the delivery because the delivery's condition reads it (ENG-6).
 * @returns the delivery's status; undefined where the endpoint fails or the claim is lost, and nothing was written
 */
async function recordAtHealthyEndpoint(
  { source }: Database,
  id: Id,
  claim: Claim,
  answer: AttemptAnswer,
  now: Date,
): Promise<string | undefined> {
  const [delivery] = await recordSucceeded(source, [
    id,
    claim.fence,
    answer.outcome,
    now,
    answer.durationMs,
    answer.responseStatus ?? null,
    answer.responseExcerpt ?? null,
    claim.endpointId,
    new Date(now.getTime() - successEveryMs),
  ]);
  return delivery?.status;
}

/**
 * A 2xx makes good whatever the delivery was, also one that was canceled by disabling its endpoint while the attempt was
 * in flight. One canceled by its student's removal, or expired, stays canceled. A resend that was asked for meanwhile is
 * still made; a recovery has what it wanted.
 */
const succeeded = (now: string) => `
  lease_until = NULL, in_flight = NULL, attempt_count = attempt_count + 1,
  schedule_position = schedule_position + CASE WHEN status = 'pending' AND schedule_position < ${deliveryRules.attempts} THEN 1 ELSE 0 END,
  requested = CASE WHEN requested = 'manual' AND cancel_reason IS NULL THEN requested END,
  parked_at = CASE WHEN requested = 'manual' AND cancel_reason IS NULL THEN parked_at END,
  status = CASE WHEN cancel_reason IS NULL THEN 'succeeded' ELSE status END,
  completed_at = CASE WHEN cancel_reason IS NULL THEN ${now}::timestamptz ELSE completed_at END`;

/** The breaker has nothing to reset. */
const isHealthy = 'consecutive_failures = 0 AND breaker_step = 0';

const recordSucceeded = prepared<{ status: string }>(
  'record_succeeded',
  `WITH told AS (
       UPDATE webhook_endpoints SET last_success_at = $4
        WHERE id = $8 AND ${isHealthy} AND (last_success_at IS NULL OR last_success_at < $9)
          AND EXISTS (SELECT FROM webhook_deliveries WHERE id = $1 AND fence = $2 AND lease_until IS NOT NULL)
    RETURNING 1),
     delivery AS (
       UPDATE webhook_deliveries
          SET ${succeeded('$4')}
        WHERE id = $1 AND fence = $2 AND lease_until IS NOT NULL AND (SELECT count(*) FROM told) >= 0
          AND EXISTS (SELECT FROM webhook_endpoints WHERE id = $8 AND ${isHealthy})
    RETURNING id, status, payload_purged_at),
     attempt AS (
       UPDATE webhook_attempts attempt
          SET outcome = $3, duration_ms = $5, response_status = $6,
              response_excerpt = CASE WHEN delivery.payload_purged_at IS NULL THEN $7 END
         FROM delivery WHERE attempt.delivery_id = delivery.id AND attempt.fence = $2)
     SELECT status FROM delivery`,
);

async function writeSuccess(tx: Transaction, id: Id, claim: Claim, now: Date): Promise<string> {
  const [[delivery]] = await tx.query<[[{ status: string }?], number]>(
    `UPDATE webhook_deliveries SET ${succeeded('$3')} WHERE id = $1 AND fence = $2 AND lease_until IS NOT NULL RETURNING status`,
    [id, claim.fence, now],
  );
  if (!delivery) throw new LeaseLost();
  return delivery.status;
}

export interface RecordDeps {
  db: Database;
  vault: Vault;
  /** From 0 up to 1, for the variation of the waits. */
  random: () => number;
}

/**
 * @param answer undefined when the number was interrupted too often: nothing was posted, and the endpoint is not to blame
 */
export async function recordFailure(
  { db, vault, random }: RecordDeps,
  id: Id,
  claim: Claim,
  answer: AttemptAnswer | undefined,
  now: Date,
): Promise<void> {
  const jitter = random();
  await unlessLost(db, async (tx) => {
    const endpoint = await lockEndpoint(tx, claim.endpointId);
    await writeFailure(tx, id, claim, answer, now, jitter);
    await writeAttempt(tx, id, claim, answer);

    const { breaker, armed } = answer
      ? afterFailure(endpoint, claim.breakerEpoch, now)
      : { breaker: endpoint, armed: false };
    // A disabled endpoint is not failing any more: it was given up, and begins anew when it is set enabled.
    if (endpoint.status !== 'disabled') await writeBreaker(tx, id, claim, endpoint, breaker, now);
    const deadline = failingDeadline({ ...endpoint, failingSince: breaker.failingSince });
    if (endpoint.status === 'enabled' && answer && deadline && deadline <= now) {
      await closeEndpoint(tx, vault, { id: claim.endpointId, clubId: claim.clubId }, 'failing', now);
    } else if (armed || endpoint.admittedDeliveryId === id || claim.trigger === 'recovery') {
      await callGate(tx, claim, now);
    }
    return true;
  });
}

async function writeFailure(
  tx: Transaction,
  id: Id,
  claim: Claim,
  answer: AttemptAnswer | undefined,
  now: Date,
  jitter: number,
): Promise<void> {
  const wait = claim.onSchedule
    ? waitAfterAttempt(claim.schedulePosition, { jitter, retryAfterSeconds: answer?.retryAfterSeconds })
    : undefined;
  // What is not on the schedule is attempted once: a recovery fails by it, a resend leaves the state as it was.
  const fails = claim.onSchedule ? wait === undefined : claim.trigger === 'recovery';
  // What was asked for meanwhile is made at once, whatever the schedule says; a recovery then has its one attempt before it.
  const itFails = `status = 'pending' AND requested IS DISTINCT FROM 'recovery' AND $5`;
  const [[delivery]] = await tx.query<[[unknown?], number]>(
    `UPDATE webhook_deliveries
        SET lease_until = NULL, in_flight = NULL, attempt_count = attempt_count + 1,
            schedule_position = $3,
            next_attempt_at = CASE WHEN requested IS NULL THEN coalesce($4, next_attempt_at) ELSE next_attempt_at END,
            status = CASE WHEN ${itFails} THEN 'failed' ELSE status END,
            completed_at = CASE WHEN ${itFails} THEN $6 ELSE completed_at END
      WHERE id = $1 AND fence = $2 AND lease_until IS NOT NULL RETURNING 1`,
    [
      id,
      claim.fence,
      claim.onSchedule ? claim.schedulePosition : claim.schedulePosition - 1,
      wait === undefined ? null : new Date(now.getTime() + wait),
      fails,
      now,
    ],
  );
  // Somebody else's fence: this attempt was given up as interrupted, and its endpoint must not be charged for it twice.
  if (!delivery) throw new LeaseLost();
}

async function writeAttempt(tx: Transaction, id: Id, claim: Claim, answer: AttemptAnswer | undefined): Promise<void> {
  await tx.query(
    `UPDATE webhook_attempts attempt
        SET outcome = $3, duration_ms = $4, response_status = $5, retry_after_seconds = $7,
            response_excerpt = CASE WHEN delivery.payload_purged_at IS NULL THEN $6 END
       FROM webhook_deliveries delivery
      WHERE delivery.id = $1 AND attempt.delivery_id = $1 AND attempt.fence = $2`,
    [
      id,
      claim.fence,
      answer?.outcome ?? 'interrupted',
      answer?.durationMs ?? null,
      answer?.responseStatus ?? null,
      answer?.responseExcerpt ?? null,
      answer?.retryAfterSeconds ?? null,
    ],
  );
}

type LockedEndpoint = Breaker & {
  status: 'enabled' | 'paused' | 'disabled';
  enabledAt: Date | null;
  admittedDeliveryId: Id | null;
};

async function lockEndpoint(tx: Transaction, endpointId: Id): Promise<LockedEndpoint> {
  const [endpoint] = await tx.query<LockedEndpoint[]>(
    `SELECT status, enabled_at AS "enabledAt", admitted_delivery_id AS "admittedDeliveryId",
            consecutive_failures AS "consecutiveFailures", failing_since AS "failingSince", hold_until AS "holdUntil",
            breaker_step AS "breakerStep", breaker_epoch AS "breakerEpoch"
       FROM webhook_endpoints WHERE id = $1 FOR NO KEY UPDATE`,
    [endpointId],
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
  await tx.query(
    `UPDATE webhook_endpoints
        SET consecutive_failures = $2, failing_since = $3, hold_until = $4, breaker_step = $5, breaker_epoch = $6,
            admitted_delivery_id = $7, gate_looks_at = coalesce($8, gate_looks_at),
            release_page = CASE WHEN $8::timestamptz IS NULL THEN release_page ELSE 0 END
      WHERE id = $1`,
    [
      endpointId,
      after.consecutiveFailures,
      after.failingSince,
      after.holdUntil,
      after.breakerStep,
      after.breakerEpoch,
      keepsAdmitted ? before.admittedDeliveryId : null,
      armed ? after.holdUntil : isThrottled(before) && !isThrottled(after) ? now : null,
    ],
  );
}

/** @returns what `work` says; false where the claim was lost, and everything that it wrote is rolled back */
async function unlessLost(db: Database, work: (tx: Transaction) => Promise<boolean>): Promise<boolean> {
  try {
    return await db.transaction(work);
  } catch (error) {
    if (error instanceof LeaseLost) return false;
    throw error;
  }
}
