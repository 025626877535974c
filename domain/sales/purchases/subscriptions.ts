/**
 * Records charges, late payments and cancellations of subscriptions, and derives the state, the facts and the access from them (ADR 0012).
 */
import { Purchase } from '../../../entities/sales/purchase.ts';
import { SubscriptionMark } from '../../../entities/sales/subscription-mark.ts';
import { Subscription } from '../../../entities/sales/subscription.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { recordFact } from '../../../platform/engine/facts.ts';
import type { MarkKind, SaleTarget } from '../../../entities/sales/values.ts';
import { followTarget, type EndsBefore } from '../../access/enrollments/sale-access.ts';
import { grantMapped, type SaleOwner } from './purchases.ts';
import type { SubscriptionEvent } from '../platforms/events.ts';
import { SaleJustTaken } from '../notices/refusal.ts';
import { timeOfFact } from './times.policy.ts';
import { standingOf, stepsOf, targetOf, type Charge } from './subscription.policy.ts';

/**
 * @returns the subscription's id. When a subscription is new, the function grants the deliveries of its product. Later charges grant
 * nothing again
 * @throws SaleJustTaken
 */
export async function findOrOpenSubscription(
  tx: Transaction,
  { clubId, platform, studentId, productId }: SaleOwner,
  externalId: string,
  now: Date,
): Promise<Id> {
  const existingSubscription = await tx.one<Pick<Subscription, 'id' | 'studentId'>>(
    sql`SELECT ${columns(Subscription, ['id', 'studentId'])} FROM subscriptions WHERE club_id = ${clubId} AND platform = ${platform} AND external_id = ${externalId}`,
  );
  if (existingSubscription && existingSubscription.studentId !== studentId) throw new SaleJustTaken();
  if (existingSubscription) return existingSubscription.id;
  const id = newId();
  await tx.manager.insert(Subscription, {
    id,
    clubId,
    studentId,
    productId,
    platform,
    externalId,
    createdAt: now,
    updatedAt: now,
  });
  await grantMapped(tx, { clubId, studentId, productId }, 'subscription', id, now);
  return id;
}

/** Records a late payment or a cancellation, once for each key. A new late payment records the fact `subscription.past_due`. */
export async function recordMark(
  tx: Transaction,
  { clubId, studentId }: SaleOwner,
  subscriptionId: Id,
  event: SubscriptionEvent,
  now: Date,
): Promise<void> {
  const key = event.kind === 'late' ? event.key : event.at.toISOString();
  const mark = await tx.one<{
    fresh: boolean;
  }>(sql`INSERT INTO subscription_marks (subscription_id, kind, key, at, period_end) VALUES (${subscriptionId}, ${event.kind}, ${key}, ${event.at}, ${event.periodEnd ?? null})
     ON CONFLICT (subscription_id, kind, key) DO UPDATE
        SET at = least(subscription_marks.at, excluded.at), period_end = greatest(subscription_marks.period_end, excluded.period_end)
     RETURNING xmax = 0 AS fresh`);
  if (mark?.fresh && event.kind === 'late')
    await recordFact(tx, {
      clubId,
      type: 'subscription.past_due',
      studentId,
      subjectId: subscriptionId,
      occurredAt: timeOfFact(event.at, now),
    });
}

async function readKnown(tx: Transaction, subscriptionId: Id) {
  const charges = await tx.rows<Charge>(
    sql`SELECT ${columns(Purchase, ['externalId', 'paidAt'])}, status <> 'paid' AS undone FROM purchases WHERE subscription_id = ${subscriptionId}`,
  );
  const marks = await tx.rows<Pick<SubscriptionMark, 'kind' | 'at' | 'periodEnd'>>(
    sql`SELECT ${columns(SubscriptionMark, ['kind', 'at', 'periodEnd'])} FROM subscription_marks WHERE subscription_id = ${subscriptionId}`,
  );
  const before = await tx.one<{ stepsTaken: number; target: SaleTarget; endsBefore: EndsBefore }>(
    sql`SELECT ${columns(Subscription, { stepsTaken: 'stepsTaken', target: 'accessTarget', endsBefore: 'endsBefore' })} FROM subscriptions WHERE id = ${subscriptionId}`,
  );
  if (!before) throw new Error(`Subscription ${subscriptionId} does not exist although its student is locked`);
  const of = (kind: MarkKind) => marks.filter((mark) => mark.kind === kind);
  return { charges, cancellations: of('canceled'), lateAt: of('late').map(({ at }) => at), before };
}

/**
 * Updates the status and the access from all recorded charges, late payments and cancellations. Each new cancellation records the fact
 * `subscription.canceled`.
 * @param stated the data of the notice: `at` is the time that the notice states, and `periodEnd` is the end of the paid period
 */
export async function settleSubscription(
  tx: Transaction,
  { clubId, studentId }: SaleOwner,
  subscriptionId: Id,
  stated: { at: Date; periodEnd: Date | undefined },
  now: Date,
): Promise<void> {
  const { charges, cancellations, lateAt, before } = await readKnown(tx, subscriptionId);
  const paidAt = charges.map((charge) => charge.paidAt);
  const steps = stepsOf(paidAt, cancellations);
  const { status, pastDueSince, canceledAt } = standingOf(paidAt, lateAt, steps);
  const target = targetOf(charges, cancellations);
  await tx.run(sql`UPDATE subscriptions
        SET status = ${status}, past_due_since = ${pastDueSince}, canceled_at = ${canceledAt}, updated_at = ${now}, steps_taken = ${Math.max(steps.length, before.stepsTaken)}, access_target = ${target},
            current_period_end = CASE WHEN ${isLatest(stated)} THEN ${stated.periodEnd ?? null} ELSE current_period_end END,
            period_stated_at = CASE WHEN ${isLatest(stated)} THEN ${stated.at} ELSE period_stated_at END
      WHERE id = ${subscriptionId}`);
  const fact = {
    clubId,
    type: 'subscription.canceled',
    studentId,
    subjectId: subscriptionId,
  } as const;
  const newSteps = steps.slice(before.stepsTaken);
  for (const step of newSteps)
    if (step.target.kind === 'canceled') await recordFact(tx, { ...fact, occurredAt: timeOfFact(step.at, now) });
  let { target: from, endsBefore } = before;
  // Intermediate steps also record facts. After all steps, the access is as it should be now.
  for (const to of [...newSteps.slice(0, -1).map((step) => step.target), target]) {
    endsBefore = await followTarget(tx, subscriptionId, { from, to, endsBefore }, now);
    from = to;
  }
  await tx.manager.update(Subscription, { id: subscriptionId }, { endsBefore });
}

/** If two notices have the same time, the later end of the period counts. So the order of the two notices does not matter. */
const isLatest = ({ at, periodEnd = null }: { at: Date; periodEnd: Date | null | undefined }) =>
  sql`${periodEnd}::timestamptz IS NOT NULL
      AND (period_stated_at IS NULL OR (${at}, ${periodEnd}) > (period_stated_at, current_period_end))`;
