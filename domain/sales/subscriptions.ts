/** Subscriptions: what is known of each is recorded, and its state, its facts and its access follow from all of it (ADR 0012). */
import type { Transaction } from '../core/database.ts';
import { newId, type Id } from '../core/ids.ts';
import { recordFact } from '../facts/facts.ts';
import { endCanceled, resumeCanceled } from '../access/sale-access.ts';
import { grantMapped, type SaleOwner } from './purchases.ts';
import type { SubscriptionEvent } from './events.ts';
import { SaleJustTaken } from './refusal.ts';
import { standingOf, stepsOf, type Step } from './subscription.policy.ts';

/** @returns the subscription's id; a new one gives what the product is mapped to, once for all of its charges @throws SaleJustTaken */
export async function findOrOpenSubscription(
  tx: Transaction,
  { clubId, platform, studentId, productId }: SaleOwner,
  externalId: string,
  now: Date,
): Promise<Id> {
  const [known] = await tx.query<{ id: Id; studentId: Id }[]>(
    `SELECT id, student_id AS "studentId" FROM subscriptions WHERE club_id = $1 AND platform = $2 AND external_id = $3`,
    [clubId, platform, externalId],
  );
  if (known && known.studentId !== studentId) throw new SaleJustTaken();
  if (known) return known.id;
  const id = newId();
  await tx.query(
    `INSERT INTO subscriptions (id, club_id, student_id, product_id, platform, external_id, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $7)`,
    [id, clubId, studentId, productId, platform, externalId, now],
  );
  await grantMapped(tx, { clubId, studentId, productId }, 'subscription', id, now);
  return id;
}

/** Records a lateness or a cancellation, once by its key. A lateness that is new raises `subscription.past_due`. */
export async function recordMark(
  tx: Transaction,
  { clubId, studentId }: SaleOwner,
  subscriptionId: Id,
  event: SubscriptionEvent,
  now: Date,
): Promise<void> {
  const key = event.kind === 'late' ? event.key : event.at.toISOString();
  const [mark] = await tx.query<{ fresh: boolean }[]>(
    `INSERT INTO subscription_marks (subscription_id, kind, key, at, period_end) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (subscription_id, kind, key) DO UPDATE
        SET at = least(subscription_marks.at, excluded.at), period_end = greatest(subscription_marks.period_end, excluded.period_end)
     RETURNING xmax = 0 AS fresh`,
    [subscriptionId, event.kind, key, event.at, event.periodEnd ?? null],
  );
  if (mark?.fresh && event.kind === 'late')
    await recordFact(tx, {
      clubId,
      type: 'subscription.past_due',
      studentId,
      subjectId: subscriptionId,
      occurredAt: now,
    });
}

interface SubscriptionRow {
  stepsTaken: number;
  endsBefore: Record<Id, string | null>;
}

/**
 * Brings status and access to what is known by now: each cancellation that is new raises `subscription.canceled` and ends
 * the access; a charge that was paid after it takes it up again.
 * @param stated the period's end that the notice states, at its own time
 */
export async function settleSubscription(
  tx: Transaction,
  { clubId, studentId }: SaleOwner,
  subscriptionId: Id,
  stated: { at: Date; periodEnd: Date | undefined },
  now: Date,
): Promise<void> {
  const charges = await tx.query<{ paidAt: Date }[]>(
    `SELECT paid_at AS "paidAt" FROM purchases WHERE subscription_id = $1`,
    [subscriptionId],
  );
  const marks = await tx.query<{ kind: 'late' | 'canceled'; at: Date; periodEnd: Date | null }[]>(
    `SELECT kind, at, period_end AS "periodEnd" FROM subscription_marks WHERE subscription_id = $1`,
    [subscriptionId],
  );
  const [row] = await tx.query<SubscriptionRow[]>(
    `SELECT steps_taken AS "stepsTaken", ends_before AS "endsBefore" FROM subscriptions WHERE id = $1`,
    [subscriptionId],
  );
  if (!row) throw new Error('A subscription vanished inside a transaction that holds its student');

  const paidAt = charges.map((charge) => charge.paidAt);
  const steps = stepsOf(
    paidAt,
    marks.filter(({ kind }) => kind === 'canceled'),
  );
  const lateAt = marks.filter(({ kind }) => kind === 'late').map(({ at }) => at);
  const { status, pastDueSince, canceledAt } = standingOf(paidAt, lateAt, steps);
  await tx.query(
    `UPDATE subscriptions
        SET status = $2, past_due_since = $3, canceled_at = $4, updated_at = $7,
            current_period_end = CASE WHEN ${isLatest} THEN $5 ELSE current_period_end END,
            period_stated_at = CASE WHEN ${isLatest} THEN $6 ELSE period_stated_at END
      WHERE id = $1`,
    [subscriptionId, status, pastDueSince, canceledAt, stated.periodEnd ?? null, stated.at, now],
  );
  let { endsBefore } = row;
  for (const [index, step] of steps.entries()) {
    if (index < row.stepsTaken) continue;
    if (step.kind === 'end') {
      const fact = {
        clubId,
        type: 'subscription.canceled',
        studentId,
        subjectId: subscriptionId,
        occurredAt: now,
      } as const;
      await recordFact(tx, fact);
      endsBefore = await endCanceled(tx, subscriptionId, step.periodEnd, now);
    } else {
      await resumeCanceled(tx, subscriptionId, endOf(steps[index - 1]), endsBefore, now);
      endsBefore = {};
    }
  }
  await tx.query(`UPDATE subscriptions SET steps_taken = $2, ends_before = $3 WHERE id = $1`, [
    subscriptionId,
    steps.length,
    endsBefore,
  ]);
}

const endOf = (step: Step | undefined) => (step?.kind === 'end' ? step.periodEnd : null);

/** Of two notices of one time the later end counts, so that their order does not matter. */
const isLatest = `$5::timestamptz IS NOT NULL AND (period_stated_at IS NULL OR ($6, $5) > (period_stated_at, current_period_end))`;
