/**
 * Records attempts that receivers did not accept: plans the next attempt, updates the breaker, and disables endpoints that failed for too
 * long (HOOK-3, HOOK-7, HOOK-21).
 */
import { WebhookEndpoint } from '../../../entities/webhooks/webhook-endpoint.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import type { DeliveryStatus } from '../../../entities/webhooks/values.ts';
import type { DeliveredEventType } from '../../../platform/core/event-types.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { LeaseLost } from '../../../platform/engine/lease.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { callGate, wakeSuccessor } from '../deliveries/wakes.ts';
import { deliveryRules, waitAfterAttempt } from '../deliveries/schedule.policy.ts';
import { mailAdministrators } from '../endpoints/administrator-mails.ts';
import { afterFailure, failingDeadline, mailIsDue, overloadHold } from '../endpoints/breaker.policy.ts';
import { closeEndpoint } from '../queues/close-endpoint.ts';
import type { Claim } from './claims.ts';
import type { AttemptAnswer } from './post.ts';
import { lockEndpoint, unlessLost, writeAttempt, writeBreaker } from './record-rows.ts';
import type { DeliveryStep } from './state.ts';

export interface RecordDeps {
  db: Database;
  vault: Vault;
  /** Returns a number from 0 to less than 1, for the jitter of the waits. */
  random: () => number;
}

/**
 * Records a failed attempt, if its claim is still valid (ENG-2).
 * @param answer the failure. Undefined if the attempt was interrupted too often. Such interruptions do not count against the endpoint
 * @returns the state of the delivery; undefined if the caller must read the state
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
    // A failure at a disabled endpoint does not count. Enabling it resets the breaker.
    if (endpoint.status !== 'disabled') await writeBreaker(tx, id, claim, endpoint, breaker, now);
    const target = { id: claim.endpointId, clubId: claim.clubId };
    if (endpoint.status !== 'disabled' && answer?.responseStatus === statusGone) {
      await closeEndpoint(tx, vault, target, 'gone', now);
      return undefined; // the endpoint was disabled, which has canceled the delivery
    }
    if (endpoint.status !== 'disabled' && mailIsDue(breaker, now)) {
      await mailAdministrators(tx, vault, target, 'webhook_endpoint_throttled', now);
      await tx.manager.update(WebhookEndpoint, { id: claim.endpointId }, { throttleMailedAt: now });
    }
    const deadline = failingDeadline({ ...endpoint, failingSince: breaker.failingSince });
    if (endpoint.status === 'enabled' && answer && deadline && deadline <= now) {
      await closeEndpoint(tx, vault, target, 'failing', now);
      return undefined; // the endpoint was disabled, which has canceled the delivery
    } else if (armed || endpoint.admittedDeliveryId === id || claim.trigger === 'recovery') {
      await callGate(tx, claim, now);
    }
    const step = stepAfterFailure(delivery, now);
    if (claim.direct && !step?.done) {
      const { eventType, manual } = delivery;
      await wakeSuccessor(
        tx,
        claim,
        { id, clubId: claim.clubId, endpointId: claim.endpointId, eventType, manual },
        now,
      );
    }
    return step;
  });
}

/** The status of a receiver that no longer uses its address. */
const statusGone = 410;

/** @returns the milliseconds until the next attempt of the schedule; undefined if there is none */
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
  // An attempt outside the schedule is made only once. If a recovery fails, the delivery becomes `failed`. If a resend fails, the delivery
  // keeps its status.
  const fails = claim.onSchedule ? wait === undefined : claim.trigger === 'recovery';
  // If a manual attempt was requested during this attempt, the manual attempt follows immediately, before any scheduled attempt. If a
  // recovery was requested, the delivery does not fail now, because the attempt of the recovery follows.
  const failsNow = sql`status = 'pending' AND requested IS DISTINCT FROM 'recovery' AND ${fails}`;
  const dueAt = wait === undefined ? null : new Date(now.getTime() + wait);
  const delivery = await tx.one<DeliveryAfter>(
    sql`UPDATE webhook_deliveries
        SET lease_until = NULL, in_flight = NULL, direct = false, attempt_count = attempt_count + 1, interruptions = 0,
            schedule_position = ${claim.onSchedule ? claim.schedulePosition : claim.schedulePosition - 1},
            next_attempt_at = CASE WHEN requested IS NULL THEN coalesce(${dueAt}, next_attempt_at) ELSE next_attempt_at END,
            -- After the lease has expired, another worker may have parked the delivery. A delivery that ends now must not stay parked.
            parked_at = CASE WHEN requested IS NOT NULL OR (status = 'pending' AND NOT (${failsNow})) THEN parked_at END,
            status = CASE WHEN ${failsNow} THEN 'failed' ELSE status END,
            completed_at = CASE WHEN ${failsNow} THEN ${now} ELSE completed_at END
      WHERE id = ${id} AND fence = ${claim.fence} AND lease_until IS NOT NULL
  RETURNING status, next_attempt_at AS "dueAt", created_at AS "createdAt", requested IS NOT NULL AS manual,
            attempt_count + 1 AS attempt, event_type AS "eventType"`,
  );
  // Another worker claimed the delivery after the lease, and counts this attempt as interrupted. It must not count twice against the
  // endpoint.
  if (!delivery) throw new LeaseLost();
  return delivery;
}

/** The state of a delivery after its attempt has failed. */
interface DeliveryAfter {
  status: DeliveryStatus;
  dueAt: Date;
  createdAt: Date;
  /** Whether a manual attempt was requested during the failed attempt. */
  manual: boolean;
  /** The number of the next attempt. */
  attempt: number;
  eventType: DeliveredEventType;
}

/** @returns the state of the delivery; undefined if the caller must read the state */
function stepAfterFailure(
  { status, dueAt, createdAt, manual, attempt }: DeliveryAfter,
  now: Date,
): DeliveryStep | undefined {
  if (manual) return undefined;
  if (status !== 'pending') return { done: true, outcome: status };
  const expiresAt = createdAt.getTime() + deliveryRules.expiryMs;
  const at = Math.min(dueAt.getTime(), expiresAt);
  return at > now.getTime() ? { done: false, waitingFor: 'attempt', at, attempt } : undefined;
}
