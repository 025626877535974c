/** The step of a delivery: claim an attempt, post it, record the outcome (ENG-2, HOOK-2). */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';
import type { Priority } from '../../../entities/facts/values.ts';
import type { AttemptOutcome, AttemptTrigger } from '../../../entities/webhooks/values.ts';
import { forRecord } from '../../../platform/infra/postgres/shared-pool.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { raw } from '../../../platform/infra/postgres/sql.ts';
import { clocksDifferMs } from '../deliveries/retention.policy.ts';
import { bodyOf } from '../deliveries/bodies.ts';
import { ending } from '../deliveries/ending.ts';
import { readState, type DeliveryStep } from './state.ts';
import { oldestClaimMs, returnClaim, type ClaimedDelivery } from './claims.ts';
import type { AttemptAnswer } from './post.ts';
import { recordFailure, type RecordDeps, type RecordSuccess } from './record.ts';
import { deliveryRules } from '../deliveries/schedule.policy.ts';

export interface DeliveryDeps extends RecordDeps {
  /** Makes the one request of an attempt; a result whatever the receiver does. */
  post: (message: { url: string; eventId: Id; body: string; secrets: string[] }) => Promise<AttemptAnswer>;
  /** The process's one writer of successes. */
  recordSuccess: RecordSuccess;
  /** Called with how each attempt ended, before it is recorded. */
  onAttempt: (attempt: EndedAttempt) => void;
  /** How many attempts run at once. */
  places: AttemptPlaces;
  /** A place where tests stop the process; does nothing otherwise. */
  failpoint: (name: 'claimed' | 'posted') => Promise<void>;
}

/** An attempt that has ended, for metrics, logs and the bounds of its endpoint and host. */
export interface EndedAttempt {
  endpointId: Id;
  host: string;
  outcome: AttemptOutcome;
  durationMs: number;
  /** Why no answer arrived, precisely. */
  errorCode?: string;
}

/** Bounds the attempts that this process makes at once (HOOK-15 to HOOK-17). */
export interface AttemptPlaces {
  /**
   * Takes the places of a claimed attempt; they are held until `leave`.
   * @param attempt.host of the target, with its port
   * @param attempt.asked by hand: it takes places, and waits for none
   * @param now Unix milliseconds
   * @returns undefined; or, where a place is missing, when to come again, in Unix milliseconds
   */
  take(attempt: { deliveryId: Id; endpointId: Id; host: string; asked: boolean }, now: number): number | undefined;
  /** How long it took to record an attempt, in milliseconds: while that is long, fewer are made at once (ENG-18). */
  recorded(tookMs: number): void;
  /** @returns a claim that this process's fan-out made for the delivery; once */
  takeClaim(deliveryId: Id): ClaimedDelivery | undefined;
  /** The step of the delivery has ended, whether or not it took places. */
  leave(deliveryId: Id): void;
}

/** How often a number is used again after an interruption, before it counts as a failed attempt. */
const maxRepetitions = 3;
/** Claims that one step tries: what is open when it is looked at may be shut again when it is claimed. */
const maxClaims = 3;
/** Waits between tries to record an answer, in milliseconds: most absences of Postgres are shorter than the lease. */
const recordAgainAfterMs = [100, 400, 1_500, 3_000];
/** The last try to record begins so long before the lease runs out. */
const recordMarginMs = 2_000;

/**
 * Takes the delivery one step further, if it is due.
 * @param now Unix milliseconds
 * @returns what Postgres holds now, whether or not this call brought it about
 */
export async function attemptDelivery(deps: DeliveryDeps, id: Id, now: number): Promise<DeliveryStep> {
  try {
    const claimed = deps.places.takeClaim(id);
    if (claimed && performance.now() - claimed.claimedAt <= oldestClaimMs)
      return await attemptClaimed(deps, id, claimed.claim, now);
    if (claimed) await returnClaim(deps.db, claimed, new Date(now));
    for (let claims = 1; ; claims++) {
      const claim = await claimAttempt(deps.db.source, id, now);
      if (claim) return await attemptClaimed(deps, id, claim, now);
      const step = await readState(deps.db, id, now);
      if (step) return step;
      if (claims === maxClaims) return { done: false, waitingFor: 'attempt', at: now, attempt: 1 };
    }
  } finally {
    deps.places.leave(id);
  }
}

async function attemptClaimed(deps: DeliveryDeps, id: Id, claim: Claim, now: number): Promise<DeliveryStep> {
  const started = performance.now();
  const { endpointId } = claim;
  const { host } = new URL(claim.url);
  await deps.failpoint('claimed');

  if (claim.interruptions > maxRepetitions) {
    deps.onAttempt({ endpointId, host, outcome: 'interrupted', durationMs: 0 });
    return (await recordFailure(deps, id, claim, undefined, new Date(now))) ?? stepAfter(deps, id, claim, now);
  }
  const later = deps.places.take({ deliveryId: id, endpointId, host, asked: claim.trigger !== 'schedule' }, now);
  if (later !== undefined) return putOff(deps, id, claim, now, later);
  const step = await makeAttempt(deps, id, claim, now);
  return step ?? stepAfter(deps, id, claim, now + Math.round(performance.now() - started));
}

/**
 * Posts a claimed attempt and records its outcome, whoever claimed it.
 * @param now Unix milliseconds
 * @returns what the delivery waits for, or how it ended; undefined where that has to be read
 */
export async function makeAttempt(
  deps: Omit<DeliveryDeps, 'places'> & { places: Pick<AttemptPlaces, 'recorded'> },
  id: Id,
  claim: Claim,
  now: number,
): Promise<DeliveryStep | undefined> {
  const started = performance.now();
  const elapsed = () => Math.round(performance.now() - started);
  const { endpointId } = claim;
  const secrets = [claim.secret, ...(claim.previousSecret ? [claim.previousSecret] : [])];
  const answer = await deps.post({
    url: claim.url,
    eventId: claim.eventId,
    body: claim.body,
    secrets: secrets.map((secret) => deps.vault.open(secret, endpointId)),
  });
  await deps.failpoint('posted');
  const { outcome, durationMs, errorCode } = answer;
  deps.onAttempt({
    endpointId,
    host: new URL(claim.url).host,
    outcome,
    durationMs,
    ...(errorCode !== undefined && { errorCode }),
  });

  const recordedAt = new Date(now + elapsed());
  const record = async (): Promise<DeliveryStep | undefined> => {
    if (answer.outcome !== 'succeeded') return recordFailure(deps, id, claim, answer, recordedAt);
    const succeeded = await deps.recordSuccess(id, claim, answer, recordedAt);
    return succeeded ? { done: true, outcome: 'succeeded' } : undefined;
  };
  const answeredMs = elapsed();
  const leaseLasts = () => elapsed() < leaseSeconds * 1_000 - recordMarginMs;
  const step = await untilRecorded(() => forRecord(record), leaseLasts);
  deps.places.recorded(elapsed() - answeredMs);
  return step;
}

/** What was posted is worth recording: posting it again because Postgres was away for a moment would be a duplicate. */
async function untilRecorded<T>(record: () => Promise<T>, leaseLasts: () => boolean): Promise<T> {
  for (const waitMs of recordAgainAfterMs) {
    try {
      return await record();
    } catch (error) {
      if (!leaseLasts()) throw error;
      await sleep(waitMs);
    }
  }
  return record();
}

/** For an attempt whose record does not say what comes next. What is open by now (a resend was asked for) is seen to by the next step. */
async function stepAfter({ db }: DeliveryDeps, id: Id, claim: Claim, now: number): Promise<DeliveryStep> {
  const step = await readState(db, id, now);
  return step ?? { done: false, waitingFor: 'attempt', at: now, attempt: claim.number };
}

/**
 * Gives a claim back whose attempt has no place: it leaves no attempt, and the row is due later, so that the sweeper does not
 * find it overdue meanwhile.
 * @param until Unix milliseconds
 */
async function putOff(deps: DeliveryDeps, id: Id, claim: Claim, now: number, until: number): Promise<DeliveryStep> {
  const [delivery] = await putOffDelivery(deps.db.source, [id, claim.fence, new Date(until), claim.startedAt]);
  if (delivery?.waits) return { done: false, waitingFor: 'attempt', at: until, attempt: claim.number };
  return stepAfter(deps, id, claim, now);
}

const putOffDelivery = prepared<{ waits: boolean }>(
  'put_off_delivery',
  `WITH delivery AS (
     UPDATE webhook_deliveries
        SET lease_until = NULL, next_attempt_at = CASE WHEN requested IS NULL THEN $3 ELSE next_attempt_at END
      WHERE id = $1 AND fence = $2 AND lease_until IS NOT NULL
  RETURNING id, status = 'pending' AND requested IS NULL AS waits),
   attempt AS (
     DELETE FROM webhook_attempts USING delivery WHERE delivery_id = delivery.id AND fence = $2 AND started_at = $4)
   SELECT waits FROM delivery`,
);

export interface Claim {
  fence: number;
  /** Made by a fan-out: no run of the delivery exists, unless somebody asked for one meanwhile. */
  direct?: true;
  /** That of its fact, for the run that takes over; normal if absent (ENG-15). */
  priority?: Priority;
  /** When the attempt began: with delivery and fence, the key of its row. */
  startedAt: Date;
  /** From 1; used again after an interruption. */
  number: number;
  trigger: AttemptTrigger;
  /** On the schedule: its failure leads to the next wait of the table. One asked for beside it is made once. */
  onSchedule: boolean;
  /** Which attempt of the schedule it would be, 1 to 8. */
  schedulePosition: number;
  /** How often an attempt of this number was cut off. */
  interruptions: number;
  clubId: Id;
  endpointId: Id;
  /** The breaker's epoch at the claim: a failure of an earlier one arms nothing. */
  breakerEpoch: number;
  url: string;
  secret: Buffer;
  previousSecret: Buffer | null;
  eventId: Id;
  body: string;
}

/** Longer than an attempt can take, so that a living worker never loses its lease. */
export const leaseSeconds = deliveryRules.attemptTimeLimitMs / 1_000 + 10;

/**
 * One statement, so one transaction: the lease and the row of the attempt. The attempt is one that was asked for, first of all
 * if it was interrupted, else the next of the schedule if that is due. The schedule's own wait for the breaker: while the
 * endpoint is throttled only the delivery that its gate admitted is attempted. What it needs is read afterwards, by whole keys:
 * in the statement, Postgres would plan for every partition of bodies and attempts each time.
 * @param now Unix milliseconds
 * @returns undefined where there is nothing to attempt now, or somebody is at it
 */
export async function claimAttempt(source: DataSource, id: Id, now: number): Promise<Claim | undefined> {
  const expiredBefore = new Date(now - deliveryRules.expiryMs);
  const [claimed] = await claimDelivery(source, [id, new Date(now), leaseSeconds, expiredBefore]);
  if (!claimed) return undefined;
  const { createdAt, ...claim } = claimed;
  if (claim.interruptions > 0)
    await markInterrupted(source, [id, claim.fence, new Date(createdAt.getTime() - clocksDifferMs)]);
  const body = await bodyOf(source, claim.eventId, createdAt);
  if (body !== undefined) return { ...claim, body };
  await endWithoutBody(source, [id, claim.fence, new Date(now), claim.startedAt]);
  return undefined;
}

/** Its student was removed after the claim, which has canceled it; or it is too old. */
const endWithoutBody = prepared<never>(
  'end_without_body',
  `WITH ended AS (
     UPDATE webhook_deliveries SET lease_until = NULL, ${ending({ now: raw('$3::timestamptz'), reason: 'expired' }).render([])}
      WHERE id = $1 AND fence = $2 AND lease_until IS NOT NULL)
   DELETE FROM webhook_attempts WHERE delivery_id = $1 AND fence = $2 AND started_at = $4`,
);

const markInterrupted = prepared<never>(
  'mark_interrupted',
  `UPDATE webhook_attempts SET outcome = 'interrupted'
    WHERE delivery_id = $1 AND fence < $2 AND outcome IS NULL AND started_at >= $3`,
);

/** One of the schedule that was cut off is made as what was asked for since, which waits for no breaker. */
const trigger = `coalesce(delivery.in_flight, delivery.requested, 'schedule')`;

const claimDelivery = prepared<Omit<Claim, 'body'> & { createdAt: Date }>(
  'claim_delivery',
  `
  WITH claimed AS (
    UPDATE webhook_deliveries delivery
       SET fence = fence + 1, lease_until = clock_timestamp() + make_interval(secs => $3), parked_at = NULL, direct = false,
           interruptions = interruptions + (lease_until IS NOT NULL)::int,
           in_flight = nullif(${trigger}, 'schedule'), requested = CASE WHEN in_flight IS NOT NULL THEN requested END
     WHERE id = $1 AND created_at > $4 AND payload_purged_at IS NULL
       AND (lease_until IS NULL OR lease_until < clock_timestamp())
       AND (in_flight IS NOT NULL OR requested IS NOT NULL
            OR (status = 'pending' AND next_attempt_at <= $2 AND schedule_position < ${deliveryRules.attempts}))
       AND NOT (${trigger} = 'recovery' AND parked_at IS NOT NULL)
       AND EXISTS (
         SELECT FROM webhook_endpoints endpoint
          WHERE endpoint.id = delivery.endpoint_id AND endpoint.status = 'enabled'
            AND (endpoint.breaker_step = 0 OR ${trigger} <> 'schedule' OR endpoint.admitted_delivery_id = delivery.id))
 RETURNING *),
  begun AS (
    INSERT INTO webhook_attempts (delivery_id, fence, number, trigger, started_at)
    SELECT id, fence, attempt_count + 1, coalesce(in_flight, 'schedule'), $2 FROM claimed)
  SELECT claimed.fence, claimed.attempt_count + 1 AS number, $2::timestamptz AS "startedAt",
         coalesce(claimed.in_flight, 'schedule') AS trigger,
         claimed.status = 'pending' AND claimed.in_flight IS DISTINCT FROM 'recovery' AND claimed.requested IS DISTINCT FROM 'recovery'
           AND claimed.schedule_position < ${deliveryRules.attempts} AS "onSchedule",
         claimed.schedule_position + 1 AS "schedulePosition",
         claimed.club_id AS "clubId", claimed.endpoint_id AS "endpointId",
         claimed.interruptions,
         endpoint.breaker_epoch AS "breakerEpoch", endpoint.url, endpoint.secret,
         CASE WHEN endpoint.previous_secret_expires_at > $2 THEN endpoint.previous_secret END AS "previousSecret",
         claimed.event_id AS "eventId", claimed.created_at AS "createdAt"
    FROM claimed
    JOIN webhook_endpoints endpoint ON endpoint.id = claimed.endpoint_id`,
);
