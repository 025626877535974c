/**
 * Claims of attempts (ENG-2): a fencing token, a lease and the row of the attempt. A step of the delivery's run claims a due attempt. A
 * fan-out may claim the first attempt for its own process, with the delivery that it inserts (HOOK-15, HOOK-18).
 */
import type { DataSource } from 'typeorm';
import type { Priority } from '../../../entities/facts/values.ts';
import type { AttemptTrigger } from '../../../entities/webhooks/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { FactToTell } from '../../../platform/engine/facts.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import { bodyOf } from '../deliveries/bodies.ts';
import { ending } from '../deliveries/ending.ts';
import { clocksDifferMs } from '../deliveries/retention.policy.ts';
import { deliveryRules } from '../deliveries/schedule.policy.ts';
import { columnsToWake, wakeSuccessor, type DeliveryToWake } from '../deliveries/wakes.ts';

export interface Claim extends AttemptTarget {
  /** The fencing token. A later claim of the delivery has a higher token. */
  fence: number;
  /** Whether a fan-out made the claim for the direct lane. The delivery then has no run, unless a run was requested after the claim. */
  direct?: true;
  /** The priority of the fact, for a run that takes over; normal if absent (ENG-15). */
  priority?: Priority;
  /** This time, the delivery and the fencing token together are the key of the attempt's row. */
  startedAt: Date;
  /** The number of the attempt, from 1. The next try of an interrupted attempt has the same number. */
  number: number;
  trigger: AttemptTrigger;
  /**
   * Whether the attempt is part of the schedule. If such an attempt fails, the delivery waits and the next attempt of the schedule follows.
   * A manual attempt is made only once.
   */
  onSchedule: boolean;
  /** From 1 to 8. */
  schedulePosition: number;
  /** The number of interrupted tries of this attempt. */
  interruptions: number;
  clubId: Id;
  eventId: Id;
  /** The exact JSON that is signed and sent. */
  body: string;
}

export interface AttemptTarget {
  endpointId: Id;
  /**
   * The epoch of the breaker at the time of the claim. If the epoch has increased since then, a failure does not arm the breaker (HOOK-7).
   */
  breakerEpoch: number;
  url: string;
  secret: Buffer;
  previousSecret: Buffer | null;
}

/** A delivery with a first attempt that a fan-out has claimed for its own process. */
export interface ClaimedDelivery {
  id: Id;
  claim: Claim;
  /** The time at which the attempt was claimed, by `performance.now()`. */
  claimedAt: number;
  /** The tracing span of the delivery's fact; absent if tracing is off. */
  traceparent?: string;
}

/**
 * The maximum age that a claim may have when its request is sent, in milliseconds. If the claim is older, for example because the process
 * was stopped, the lease could end before the answer arrives.
 */
const oldestClaimMs = 5_000;

/** @returns whether the request may still be sent */
export const isFresh = ({ claimedAt }: ClaimedDelivery): boolean => performance.now() - claimedAt <= oldestClaimMs;

/** Shared by the claims of fan-outs and of runs. */
export const claimSql = {
  /** The end of a lease that begins now. @param seconds the SQL parameter with the length of the lease */
  leaseEnd: (seconds: string) => `clock_timestamp() + make_interval(secs => ${seconds})`,
  /** @param at the time of the claim */
  target: (at: string) => `webhook_endpoints.id AS "endpointId", webhook_endpoints.breaker_epoch AS "breakerEpoch",
         webhook_endpoints.url, webhook_endpoints.secret,
         CASE WHEN webhook_endpoints.previous_secret_expires_at > ${at} THEN webhook_endpoints.previous_secret END AS "previousSecret"`,
  /**
   * Inserts the row of each attempt that begins.
   * @param claimed a table expression with a row of `webhook_deliveries` for each claim
   */
  insertAttempts: (
    claimed: string,
    { number, trigger, startedAt }: Record<'number' | 'trigger' | 'startedAt', string>,
  ) =>
    `INSERT INTO webhook_attempts (delivery_id, fence, number, trigger, started_at)
     SELECT id, fence, ${number}, ${trigger}, ${startedAt} FROM ${claimed}`,
} as const;

/** @returns the claim of a first attempt that was inserted with its delivery */
export function firstClaim(
  fact: FactToTell,
  target: AttemptTarget,
  { body, now, direct }: { body: string; now: Date; direct: boolean },
): Claim {
  const { endpointId, breakerEpoch, url, secret, previousSecret } = target;
  return {
    fence: 1,
    startedAt: now,
    ...(direct && { direct }),
    ...(fact.priority !== undefined && { priority: fact.priority }),
    number: 1,
    trigger: 'schedule',
    onSchedule: true,
    schedulePosition: 1,
    interruptions: 0,
    clubId: fact.clubId,
    endpointId,
    breakerEpoch,
    url,
    secret,
    previousSecret,
    eventId: fact.id,
    body,
  };
}

/**
 * Claims the attempt that is due now. One statement writes the lease and the row of the attempt, so both belong to one transaction. An
 * interrupted manual attempt comes first, then a requested attempt, then the next attempt of the schedule. While the endpoint is throttled,
 * a scheduled attempt is made only for the delivery that the gate admitted. A second statement reads the body by its full key. If the first
 * statement also read the body, Postgres would have to plan for every partition of bodies each time.
 * @param now Unix milliseconds
 * @returns undefined if nothing is due, or if another worker has the attempt
 */
export async function claimAttempt(source: DataSource, id: Id, now: number): Promise<Claim | undefined> {
  const [row] = await claimDelivery(source, {
    id,
    now: new Date(now),
    leaseSeconds: deliveryRules.leaseSeconds,
    expiredBefore: new Date(now - deliveryRules.expiryMs),
  });
  if (!row) return undefined;
  const { createdAt, ...claim } = row;
  if (claim.interruptions > 0)
    await markInterrupted(source, {
      id,
      fence: claim.fence,
      since: new Date(createdAt.getTime() - clocksDifferMs),
    });
  const body = await bodyOf(source, claim.eventId, createdAt);
  if (body !== undefined) return { ...claim, body };
  await endWithoutBody(source, { id, fence: claim.fence, now: new Date(now), startedAt: claim.startedAt });
  return undefined;
}

/** A manual attempt that was requested during an interrupted attempt of the schedule comes next. */
const trigger = `coalesce(delivery.in_flight, delivery.requested, 'schedule')`;

const claimDelivery = prepared<
  Omit<Claim, 'body'> & { createdAt: Date },
  { id: Id; now: Date; leaseSeconds: number; expiredBefore: Date }
>(
  'claim_delivery',
  (value) => `
  WITH claimed AS (
    UPDATE webhook_deliveries delivery
       SET fence = fence + 1, lease_until = ${claimSql.leaseEnd(value.leaseSeconds)}, parked_at = NULL, direct = false,
           interruptions = interruptions + (lease_until IS NOT NULL)::int,
           in_flight = nullif(${trigger}, 'schedule'), requested = CASE WHEN in_flight IS NOT NULL THEN requested END
     WHERE id = ${value.id} AND created_at > ${value.expiredBefore} AND payload_purged_at IS NULL
       AND (lease_until IS NULL OR lease_until < clock_timestamp())
       AND (in_flight IS NOT NULL OR requested IS NOT NULL
            OR (status = 'pending' AND next_attempt_at <= ${value.now} AND schedule_position < ${deliveryRules.attempts}))
       AND NOT (${trigger} = 'recovery' AND parked_at IS NOT NULL)
       AND EXISTS (
         SELECT FROM webhook_endpoints endpoint
          WHERE endpoint.id = delivery.endpoint_id AND endpoint.status = 'enabled'
            AND (endpoint.breaker_step = 0 OR ${trigger} <> 'schedule' OR endpoint.admitted_delivery_id = delivery.id))
 RETURNING *),
  begun AS (
    ${claimSql.insertAttempts('claimed', { number: 'attempt_count + 1', trigger: `coalesce(in_flight, 'schedule')`, startedAt: value.now })})
  SELECT claimed.fence, claimed.attempt_count + 1 AS number, ${value.now}::timestamptz AS "startedAt",
         coalesce(claimed.in_flight, 'schedule') AS trigger,
         claimed.status = 'pending' AND claimed.in_flight IS DISTINCT FROM 'recovery' AND claimed.requested IS DISTINCT FROM 'recovery'
           AND claimed.schedule_position < ${deliveryRules.attempts} AS "onSchedule",
         claimed.schedule_position + 1 AS "schedulePosition",
         claimed.club_id AS "clubId", claimed.interruptions, ${claimSql.target(value.now)},
         claimed.event_id AS "eventId", claimed.created_at AS "createdAt"
    FROM claimed
    JOIN webhook_endpoints ON webhook_endpoints.id = claimed.endpoint_id`,
);

const markInterrupted = prepared<never, { id: Id; fence: number; since: Date }>(
  'mark_interrupted',
  (value) => `UPDATE webhook_attempts SET outcome = 'interrupted'
    WHERE delivery_id = ${value.id} AND fence < ${value.fence} AND outcome IS NULL AND started_at >= ${value.since}`,
);

/** Ends a delivery without a body: the student was removed after the claim, or the body was too old. */
const endWithoutBody = prepared<never, { id: Id; fence: number; now: Date; startedAt: Date }>(
  'end_without_body',
  (value) => `WITH ended AS (
     UPDATE webhook_deliveries SET lease_until = NULL, ${ending({ now: raw(`${value.now}::timestamptz`), reason: 'expired' }).render([])}
      WHERE id = ${value.id} AND fence = ${value.fence} AND lease_until IS NOT NULL)
   DELETE FROM webhook_attempts WHERE delivery_id = ${value.id} AND fence = ${value.fence} AND started_at = ${value.startedAt}`,
);

/** The delivery still needs an attempt. */
const isOpen = `(status = 'pending' OR requested IS NOT NULL OR in_flight IS NOT NULL)`;

interface ReleasedDelivery extends DeliveryToWake {
  /** Whether the delivery still needs an attempt. */
  open: boolean;
  /** Whether the delivery waits for a scheduled attempt. */
  waits: boolean;
  /** Whether an administrator has requested an attempt of the delivery. */
  manual: boolean;
}

/** Releases a claim before its attempt begins, and deletes the attempt's row. */
const releaseClaim = prepared<ReleasedDelivery, { id: Id; fence: number; startedAt: Date; until: Date | null }>(
  'release_claim',
  (value) => `WITH delivery AS (
     UPDATE webhook_deliveries
        SET lease_until = NULL, direct = false,
            next_attempt_at = CASE WHEN requested IS NULL THEN coalesce(${value.until}, next_attempt_at) ELSE next_attempt_at END
      WHERE id = ${value.id} AND fence = ${value.fence} AND lease_until IS NOT NULL
  RETURNING ${columnsToWake().render([])}, ${isOpen} AS open, status = 'pending' AND requested IS NULL AS waits,
            requested IS NOT NULL OR in_flight IS NOT NULL AS manual),
   attempt AS (
     DELETE FROM webhook_attempts USING delivery WHERE delivery_id = delivery.id AND fence = ${value.fence} AND started_at = ${value.startedAt})
   SELECT * FROM delivery`,
);

/** Releases a claim before its attempt begins, and wakes the delivery's run. */
export async function returnClaim(db: Database, { id, claim }: ClaimedDelivery, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    const [delivery] = await releaseClaim(tx, { id, fence: claim.fence, startedAt: claim.startedAt, until: null });
    if (delivery?.open) await wakeSuccessor(tx, claim, delivery, now);
  });
}

/**
 * Releases a claim that gets no permit. The delivery becomes due later, so that the sweeper does not count it as overdue.
 * @param until Unix milliseconds
 * @returns whether the delivery waits until that time; false if another transaction has changed the delivery
 */
export async function putClaimOff(source: DataSource, id: Id, claim: Claim, until: number): Promise<boolean> {
  const [delivery] = await releaseClaim(source, {
    id,
    fence: claim.fence,
    startedAt: claim.startedAt,
    until: new Date(until),
  });
  return delivery?.waits ?? false;
}

/** The maximum number of deliveries that one transaction hands over to runs. */
const handOverLimit = 256;

/**
 * Hands deliveries to runs if their attempt in the direct lane was not recorded within its lease (HOOK-18). The run's claim marks this
 * attempt as `interrupted`.
 * @returns the number of deliveries
 */
export function handOverLost(db: Database, now: Date): Promise<number> {
  return db.transaction(async (tx) => {
    const lostDeliveries = await tx.rows<DeliveryToWake & { open: boolean }>(
      sql`UPDATE webhook_deliveries SET direct = false
           WHERE id IN (SELECT id FROM webhook_deliveries WHERE direct AND lease_until < clock_timestamp()
                         ORDER BY id LIMIT ${handOverLimit} FOR NO KEY UPDATE SKIP LOCKED)
       RETURNING ${columnsToWake()}, ${raw(isOpen)} AS open`,
    );
    const open = lostDeliveries.filter((delivery) => delivery.open);
    await wake(tx, 'webhookDelivery', open, now);
    return lostDeliveries.length;
  });
}
