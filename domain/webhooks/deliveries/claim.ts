/** Claiming an attempt: who may make it, and the data that it needs (ENG-2, HOOK-2). */
import type { DataSource } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';
import type { AttemptTrigger } from '../../../entities/webhooks/values.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { deliveryRules } from './schedule.policy.ts';

export interface Claim {
  fence: number;
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
 * One statement, so one transaction: the lease, the row of the attempt, and what the attempt needs. The attempt is one that
 * was asked for, first of all if it was interrupted, else the next of the schedule if that is due. The schedule's own wait
 * for the breaker: while the endpoint is throttled only the delivery that its gate admitted is attempted.
 * @param now Unix milliseconds
 * @returns undefined where there is nothing to attempt now, or somebody is at it
 */
export async function claimAttempt(source: DataSource, id: Id, now: number): Promise<Claim | undefined> {
  const expiredBefore = new Date(now - deliveryRules.expiryMs);
  const [claim] = await claimDelivery(source, [id, new Date(now), leaseSeconds, expiredBefore]);
  return claim;
}

/** One of the schedule that was cut off is made as what was asked for since, which waits for no breaker. */
const trigger = `coalesce(delivery.in_flight, delivery.requested, 'schedule')`;

const claimDelivery = prepared<Claim>(
  'claim_delivery',
  `
  WITH claimed AS (
    UPDATE webhook_deliveries delivery
       SET fence = fence + 1, lease_until = clock_timestamp() + make_interval(secs => $3), parked_at = NULL,
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
  interrupted AS (
    UPDATE webhook_attempts attempt SET outcome = 'interrupted'
      FROM claimed WHERE attempt.delivery_id = claimed.id AND attempt.outcome IS NULL
 RETURNING 1),
  begun AS (
    INSERT INTO webhook_attempts (delivery_id, fence, number, trigger, started_at)
    SELECT id, fence, attempt_count + 1, coalesce(in_flight, 'schedule'), $2 FROM claimed)
  SELECT claimed.fence, claimed.attempt_count + 1 AS number,
         coalesce(claimed.in_flight, 'schedule') AS trigger,
         claimed.status = 'pending' AND claimed.in_flight IS DISTINCT FROM 'recovery' AND claimed.requested IS DISTINCT FROM 'recovery'
           AND claimed.schedule_position < ${deliveryRules.attempts} AS "onSchedule",
         claimed.schedule_position + 1 AS "schedulePosition",
         claimed.club_id AS "clubId", claimed.endpoint_id AS "endpointId",
         (SELECT count(*)::int FROM webhook_attempts attempt
           WHERE attempt.delivery_id = claimed.id AND attempt.number = claimed.attempt_count + 1
             AND attempt.outcome = 'interrupted')
           + (SELECT count(*)::int FROM interrupted) AS interruptions,
         endpoint.breaker_epoch AS "breakerEpoch", endpoint.url, endpoint.secret,
         CASE WHEN endpoint.previous_secret_expires_at > $2 THEN endpoint.previous_secret END AS "previousSecret",
         event.id AS "eventId", event.body
    FROM claimed
    JOIN webhook_endpoints endpoint ON endpoint.id = claimed.endpoint_id
    JOIN webhook_events event ON event.id = claimed.event_id`,
);
