/** Writes the rows that every result of an attempt changes: the attempt, and the breaker of its endpoint. */
import { WebhookEndpoint } from '../../../entities/webhooks/webhook-endpoint.ts';
import { LeaseLost } from '../../../platform/engine/lease.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { columns, raw, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import { isThrottled, type Breaker } from '../endpoints/breaker.policy.ts';
import type { Claim } from './claims.ts';
import { failureCause } from './failure-causes.ts';
import type { AttemptAnswer } from './post.ts';

/**
 * True if the excerpt of a response may be stored. It must not quote a removed student, so it is not stored after the body was purged, or
 * for the event `student.removed`.
 */
export const mayKeepExcerpt = `delivery.payload_purged_at IS NULL AND delivery.event_type <> 'student.removed'`;

/** Writes the outcome into the row of the attempt. @param answer undefined after too many interruptions */
export async function writeAttempt(
  tx: Transaction,
  id: Id,
  claim: Claim,
  answer: AttemptAnswer | undefined,
): Promise<void> {
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

const recordColumns = columns(WebhookEndpoint, [
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
export type LockedEndpoint = RowOf<typeof recordColumns>;

/** Locks the endpoint before its delivery (ENG-6). @throws LeaseLost if the endpoint was deleted */
export async function lockEndpoint(tx: Transaction, endpointId: Id): Promise<LockedEndpoint> {
  const endpoint = await tx.one<LockedEndpoint>(
    sql`SELECT ${recordColumns} FROM webhook_endpoints WHERE id = ${endpointId} FOR NO KEY UPDATE`,
  );
  if (!endpoint) throw new LeaseLost();
  return endpoint;
}

/**
 * Writes the breaker. If the breaker was armed, the gate of the endpoint must run when the hold ends. If the breaker was reset, the gate
 * must run immediately. `gate_looks_at` stores the time at which the gate must run. The gate then releases parked deliveries in pages, and
 * the first page has one
 * delivery.
 */
export async function writeBreaker(
  tx: Transaction,
  id: Id,
  { endpointId }: Claim,
  before: LockedEndpoint,
  after: Breaker,
  now: Date,
): Promise<void> {
  const armed = isThrottled(after) && after.breakerEpoch !== before.breakerEpoch;
  // A new hold applies to all deliveries, so an admitted delivery without an attempt is parked again. An attempt in flight ends before the
  // hold, because a hold is longer than a lease.
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

/** @returns the result of `work`; undefined if the claim was lost and all writes were rolled back */
export async function unlessLost<T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T | undefined> {
  try {
    return await db.transaction(work);
  } catch (error) {
    if (error instanceof LeaseLost) return undefined;
    throw error;
  }
}
