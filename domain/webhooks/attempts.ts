/** The step of a delivery: claim an attempt, post it, record what it brought (DESIGN §1, rule 2; §5, Attempt). */
import type { DataSource } from 'typeorm';
import { inTransaction, type Database, type Transaction } from '../core/database.ts';
import type { Id } from '../core/ids.ts';
import type { Vault } from '../core/secrets.ts';
import type { AttemptAnswer } from './post.ts';
import { deliveryRules, waitAfterAttempt } from './schedule.policy.ts';

export type AttemptTrigger = 'schedule' | 'manual' | 'recovery' | 'test';
/** `interrupted`: the worker died before it recorded anything, so nobody knows whether the receiver was reached. */
export type AttemptOutcome = AttemptAnswer['outcome'] | 'interrupted';

/** What Postgres holds after a step. Times in Unix milliseconds. */
export type DeliveryStep =
  | { done: true; outcome: 'succeeded' | 'failed' | 'canceled' }
  | { done: false; at: number; waitingFor: 'attempt' | 'lease' | 'endpoint'; attempt: number };

export interface DeliveryPlatform {
  database: Database;
  vault: Vault;
  /** Makes the one request of an attempt; a result whatever the receiver does. */
  post: (message: { url: string; eventId: Id; body: string; secrets: string[] }) => Promise<AttemptAnswer>;
  /** From 0 up to 1, for the variation of the waits. */
  random: () => number;
  /** Told how each attempt ended, before it is recorded. */
  onAttempt: (attempt: { endpointId: Id; outcome: AttemptOutcome; durationMs: number }) => void;
  /** A place where tests stop the process; does nothing otherwise. */
  failpoint: (name: 'claimed' | 'posted') => Promise<void>;
}

/** Longer than an attempt can take, so that a living worker never loses its lease. */
const leaseSeconds = deliveryRules.attemptTimeLimitMs / 1_000 + 10;
/** How often a number is used again after an interruption, before it counts as a failed attempt. */
const mostRepetitions = 3;
/** How often `last_success_at` of a healthy endpoint is written, at most. */
const successEveryMs = 5_000;

/**
 * Takes the delivery one step further, if it is due.
 * @param now Unix milliseconds
 * @returns what Postgres holds now, whether or not this call brought it about
 */
export async function attemptDelivery(platform: DeliveryPlatform, id: Id, now: number): Promise<DeliveryStep> {
  const { source } = platform.database;
  const claim = await claimAttempt(source, id, now);
  if (!claim) return lookAt(source, id, now);
  await platform.failpoint('claimed');

  if (claim.interruptions > mostRepetitions) {
    platform.onAttempt({ endpointId: claim.endpointId, outcome: 'interrupted', durationMs: 0 });
    await recordFailure(platform, id, claim, undefined, now);
    return lookAt(source, id, now);
  }

  const started = performance.now();
  const secrets = [claim.secret, ...(claim.previousSecret ? [claim.previousSecret] : [])];
  const answer = await platform.post({
    url: claim.url,
    eventId: claim.eventId,
    body: claim.body,
    secrets: secrets.map((secret) => platform.vault.open(secret, claim.endpointId)),
  });
  await platform.failpoint('posted');
  platform.onAttempt({ endpointId: claim.endpointId, outcome: answer.outcome, durationMs: answer.durationMs });

  const recordedAt = now + Math.round(performance.now() - started);
  if (answer.outcome !== 'succeeded') await recordFailure(platform, id, claim, answer, recordedAt);
  else if (await recordSuccess(platform, id, claim, answer, recordedAt)) return { done: true, outcome: 'succeeded' };
  return lookAt(source, id, recordedAt);
}

interface Claim {
  fence: number;
  /** 1 to 8. */
  number: number;
  /** How often an attempt of this number was cut off. */
  interruptions: number;
  endpointId: Id;
  url: string;
  secret: Buffer;
  previousSecret: Buffer | null;
  eventId: Id;
  body: string;
}

/** One statement, so one transaction: the lease, the row of the attempt, and what the attempt needs. */
async function claimAttempt(source: DataSource, id: Id, now: number): Promise<Claim | undefined> {
  const rows = await source.query<Claim[]>(
    `WITH claimed AS (
       UPDATE webhook_deliveries delivery
          SET fence = fence + 1, lease_until = clock_timestamp() + make_interval(secs => $3)
        WHERE id = $1 AND status = 'pending' AND next_attempt_at <= $2 AND created_at > $4
          AND (lease_until IS NULL OR lease_until < clock_timestamp())
          AND EXISTS (SELECT FROM webhook_endpoints WHERE id = delivery.endpoint_id AND status = 'enabled')
    RETURNING *),
     interrupted AS (
       UPDATE webhook_attempts attempt SET outcome = 'interrupted'
         FROM claimed WHERE attempt.delivery_id = claimed.id AND attempt.outcome IS NULL
    RETURNING 1),
     begun AS (
       INSERT INTO webhook_attempts (delivery_id, fence, number, trigger, started_at)
       SELECT id, fence, attempt_count + 1, 'schedule', $2 FROM claimed)
     SELECT claimed.fence, claimed.attempt_count + 1 AS number, claimed.endpoint_id AS "endpointId",
            (SELECT count(*)::int FROM webhook_attempts attempt
              WHERE attempt.delivery_id = claimed.id AND attempt.number = claimed.attempt_count + 1
                AND attempt.outcome = 'interrupted')
              + (SELECT count(*)::int FROM interrupted) AS interruptions,
            endpoint.url, endpoint.secret,
            CASE WHEN endpoint.previous_secret_expires_at > $2 THEN endpoint.previous_secret END AS "previousSecret",
            event.id AS "eventId", event.body
       FROM claimed
       JOIN webhook_endpoints endpoint ON endpoint.id = claimed.endpoint_id
       JOIN webhook_events event ON event.id = claimed.event_id`,
    [id, new Date(now), leaseSeconds, new Date(now - deliveryRules.expiryMs)],
  );
  return rows[0];
}

/**
 * A 2xx. It also makes good a delivery that was canceled by disabling its endpoint while the attempt was in flight; one
 * canceled by its student's removal stays canceled, and keeps nothing of the answer. One statement: the endpoint, which
 * is written only where it has something to be told and the claim is still ours, is locked before the delivery because the
 * delivery's condition reads it (DESIGN §1, rule 6).
 * @returns whether the delivery has succeeded by it
 */
async function recordSuccess(
  { database }: DeliveryPlatform,
  id: Id,
  claim: Claim,
  answer: AttemptAnswer,
  now: number,
): Promise<boolean> {
  const rows = await database.source.query<{ status: string }[]>(
    `WITH endpoint AS (
       UPDATE webhook_endpoints
          SET last_success_at = $4, consecutive_failures = 0, failing_since = NULL, hold_until = NULL
        WHERE id = $9 AND (consecutive_failures > 0 OR last_success_at IS NULL OR last_success_at < $10)
          AND EXISTS (SELECT FROM webhook_deliveries WHERE id = $1 AND fence = $2)
    RETURNING 1),
     delivery AS (
       UPDATE webhook_deliveries
          SET lease_until = NULL, attempt_count = $3,
              status = CASE WHEN cancel_reason IS NULL THEN 'succeeded' ELSE status END,
              completed_at = CASE WHEN cancel_reason IS NULL THEN $4 ELSE completed_at END
        WHERE id = $1 AND fence = $2 AND (SELECT count(*) FROM endpoint) >= 0
    RETURNING id, status, payload_purged_at),
     attempt AS (
       UPDATE webhook_attempts attempt
          SET outcome = $5, duration_ms = $6, response_status = $7,
              response_excerpt = CASE WHEN delivery.payload_purged_at IS NULL THEN $8 END
         FROM delivery WHERE attempt.delivery_id = delivery.id AND attempt.fence = $2)
     SELECT status FROM delivery`,
    [
      id,
      claim.fence,
      claim.number,
      new Date(now),
      answer.outcome,
      answer.durationMs,
      answer.responseStatus ?? null,
      answer.responseExcerpt ?? null,
      claim.endpointId,
      new Date(now - successEveryMs),
    ],
  );
  return rows[0]?.status === 'succeeded';
}

/** @param answer undefined when the number was interrupted too often: nothing was posted, and the endpoint is not to blame */
async function recordFailure(
  { database, random }: DeliveryPlatform,
  id: Id,
  claim: Claim,
  answer: AttemptAnswer | undefined,
  now: number,
): Promise<void> {
  const wait = waitAfterAttempt(claim.number, { jitter: random(), retryAfterSeconds: answer?.retryAfterSeconds });
  try {
    await inTransaction(database, (tx) => writeFailure(tx, id, claim, answer, now, wait));
  } catch (error) {
    if (!(error instanceof LostClaim)) throw error;
  }
}

/** The lease ran out under us and another worker has the delivery: the transaction is rolled back, and the step looks again. */
class LostClaim extends Error {}

async function writeFailure(
  tx: Transaction,
  id: Id,
  claim: Claim,
  answer: AttemptAnswer | undefined,
  now: number,
  wait: number | undefined,
): Promise<void> {
  if (answer) {
    await tx.query(
      `UPDATE webhook_endpoints SET consecutive_failures = consecutive_failures + 1, failing_since = coalesce(failing_since, $2)
        WHERE id = $1`,
      [claim.endpointId, new Date(now)],
    );
  }
  const [[recorded]] = await tx.query<[[{ purged: boolean }?], number]>(
    `UPDATE webhook_deliveries
        SET lease_until = NULL, attempt_count = $3,
            status = CASE WHEN status = 'pending' THEN $4 ELSE status END,
            next_attempt_at = $5,
            completed_at = CASE WHEN status = 'pending' THEN $6 ELSE completed_at END
      WHERE id = $1 AND fence = $2
  RETURNING payload_purged_at IS NOT NULL AS purged`,
    [
      id,
      claim.fence,
      claim.number,
      wait === undefined ? 'failed' : 'pending',
      new Date(now + (wait ?? 0)),
      wait === undefined ? new Date(now) : null,
    ],
  );
  // Somebody else's fence: this attempt was given up as interrupted, and its endpoint must not be charged for it twice.
  if (!recorded) throw new LostClaim();
  await tx.query(
    `UPDATE webhook_attempts
        SET outcome = $3, duration_ms = $4, response_status = $5, response_excerpt = $6, retry_after_seconds = $7
      WHERE delivery_id = $1 AND fence = $2`,
    [
      id,
      claim.fence,
      answer?.outcome ?? 'interrupted',
      answer?.durationMs ?? null,
      answer?.responseStatus ?? null,
      recorded.purged ? null : (answer?.responseExcerpt ?? null),
      answer?.retryAfterSeconds ?? null,
    ],
  );
}

interface DeliveryNow {
  status: 'pending' | 'succeeded' | 'failed' | 'canceled';
  dueAt: Date;
  leaseUntil: Date | null;
  createdAt: Date;
  attempt: number;
  endpointOpen: boolean;
}

/** What the row says now; cancels what has been pending for 30 days. */
async function lookAt(source: DataSource, id: Id, now: number): Promise<DeliveryStep> {
  const [row] = await source.query<DeliveryNow[]>(
    `SELECT delivery.status, delivery.next_attempt_at AS "dueAt", delivery.created_at AS "createdAt",
            CASE WHEN delivery.lease_until > clock_timestamp() THEN delivery.lease_until END AS "leaseUntil",
            delivery.attempt_count + 1 AS attempt, endpoint.status = 'enabled' AS "endpointOpen"
       FROM webhook_deliveries delivery JOIN webhook_endpoints endpoint ON endpoint.id = delivery.endpoint_id
      WHERE delivery.id = $1`,
    [id],
  );
  if (!row) return { done: true, outcome: 'canceled' }; // its endpoint was deleted, and the delivery with it
  if (row.status !== 'pending') return { done: true, outcome: row.status };

  const waiting = { done: false, attempt: row.attempt } as const;
  if (row.leaseUntil) return { ...waiting, waitingFor: 'lease', at: row.leaseUntil.getTime() };
  const expiresAt = row.createdAt.getTime() + deliveryRules.expiryMs;
  if (expiresAt <= now) return expire(source, id, now);
  if (!row.endpointOpen && row.dueAt.getTime() <= now) return { ...waiting, waitingFor: 'endpoint', at: expiresAt };
  return { ...waiting, waitingFor: 'attempt', at: Math.min(row.dueAt.getTime(), expiresAt) };
}

async function expire(source: DataSource, id: Id, now: number): Promise<DeliveryStep> {
  const [expired] = await source.query<[unknown[], number]>(
    `UPDATE webhook_deliveries SET status = 'canceled', cancel_reason = 'expired', completed_at = $2
      WHERE id = $1 AND status = 'pending' AND (lease_until IS NULL OR lease_until < clock_timestamp())
  RETURNING 1`,
    [id, new Date(now)],
  );
  // Nobody else may have ended it meanwhile: then the row says how.
  return expired.length > 0 ? { done: true, outcome: 'canceled' } : lookAt(source, id, now);
}
