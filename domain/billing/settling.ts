/**
 * The step of an add-on: claim, charge, record (ENG-2). However often it runs, and whichever process dies in between,
 * the club is charged once, and has what it paid for.
 */
import { inTransaction, type Database, type Transaction } from '../../platform/infra/postgres/transaction.ts';
import type { Id } from '../../platform/core/ids.ts';
import { wake } from '../../platform/engine/facts.ts';
import { addOnLeaseSeconds, chargesUntilMs, waitAfterCharge } from './add-ons.policy.ts';
import type { AddOnStatus } from '../../entities/billing/values.ts';
import type { ChargeOutcome, PaymentProcessor } from '../../platform/infra/payments.ts';

export interface AddOnPlatform {
  database: Database;
  /** Undefined where the operator has set none up: what is pending then waits. */
  processor: PaymentProcessor | undefined;
}

export type AddOnStep = { done: true; outcome: AddOnStatus } | { done: false; at: number; attempt: number };

/** What a claim gives to whoever made it. */
export interface ClaimedAddOn {
  id: Id;
  clubId: Id;
  fence: number;
  /** Counted with this one. */
  attemptCount: number;
  amount: number;
  currency: string;
  customerId: string;
  subscriptionId: string | null;
  paymentMethodId: string | null;
  createdAt: Date;
}

/** What an UPDATE or INSERT of `add_ons` returns of a claim. */
export const claimColumns = `id, club_id AS "clubId", fence, attempt_count AS "attemptCount", amount, currency, customer_id AS "customerId",
  payment_method_id AS "paymentMethodId", created_at AS "createdAt",
  (SELECT subscription_id FROM club_plans WHERE club_plans.club_id = add_ons.club_id) AS "subscriptionId"`;

export const addOnWake = ({ id, clubId }: { id: Id; clubId: Id }) => ({
  workflowType: 'addOn' as const,
  subjectId: id,
  clubId,
  attributes: { ClubId: clubId },
});

/** Takes the add-on one step further. @param now Unix milliseconds */
export async function settleAddOn(platform: AddOnPlatform, id: Id, now: number): Promise<AddOnStep> {
  const claimed = await claim(platform.database, id, now);
  if (claimed) await chargeClaimed(platform, claimed, new Date(now));
  return lookAt(platform.database, id, now);
}

async function claim({ source }: Database, id: Id, now: number): Promise<ClaimedAddOn | undefined> {
  const [rows] = await source.query<[ClaimedAddOn[], number]>(
    `UPDATE add_ons
        SET fence = fence + 1, attempt_count = attempt_count + 1, lease_until = clock_timestamp() + make_interval(secs => $3)
      WHERE id = $1 AND status = 'pending' AND next_attempt_at <= $2
        AND (lease_until IS NULL OR lease_until < clock_timestamp())
  RETURNING ${claimColumns}`,
    [id, new Date(now), addOnLeaseSeconds],
  );
  return rows[0];
}

/**
 * Charges what is claimed, and records how that ended.
 * @param wakeAfter the add-on's workflow is to look again if it stays pending: for who is not that workflow
 */
export async function chargeClaimed(
  platform: AddOnPlatform,
  claimed: ClaimedAddOn,
  now: Date,
  { wakeAfter = false } = {},
): Promise<void> {
  const outcome = await chargeOnce(platform, claimed, now);
  await inTransaction(platform.database, (tx) => record(tx, claimed, outcome, now, wakeAfter));
}

async function chargeOnce(
  { database, processor }: AddOnPlatform,
  claimed: ClaimedAddOn,
  now: Date,
): Promise<ChargeOutcome> {
  if (!processor) return { result: 'unknown', code: 'not_configured' };
  const { id: addOnId, customerId, createdAt } = claimed;
  try {
    const earlier = claimed.attemptCount > 1 ? await processor.findCharge(customerId, addOnId) : undefined;
    if (earlier) return earlier;
    if (now.getTime() - createdAt.getTime() > chargesUntilMs) return { result: 'declined' };
    const paymentMethodId =
      claimed.paymentMethodId ?? (await processor.paymentMethodOf(customerId, claimed.subscriptionId));
    if (paymentMethodId === undefined) return { result: 'declined' };
    const mine = await keepPaymentMethod(database, claimed, paymentMethodId);
    if (!mine) return { result: 'unknown', code: 'claimed_anew' };
    return await processor.charge({ ...claimed, addOnId, paymentMethodId });
  } catch (error) {
    return { result: 'unknown', code: error instanceof Error ? error.name : 'unknown' };
  }
}

/** Fixed before the first charge: a repetition under the same key must ask for the very same. @returns false if the claim is lost */
async function keepPaymentMethod({ source }: Database, claimed: ClaimedAddOn, method: string): Promise<boolean> {
  const [rows] = await source.query<[unknown[], number]>(
    `UPDATE add_ons SET payment_method_id = $3 WHERE id = $1 AND fence = $2 AND status = 'pending' RETURNING 1`,
    [claimed.id, claimed.fence, method],
  );
  return rows.length > 0;
}

async function record(
  tx: Transaction,
  claimed: ClaimedAddOn,
  outcome: ChargeOutcome,
  now: Date,
  wakeAfter: boolean,
): Promise<void> {
  if (outcome.result === 'unknown') {
    const next = new Date(now.getTime() + waitAfterCharge(claimed.attemptCount));
    await tx.query(
      `UPDATE add_ons SET lease_until = NULL, next_attempt_at = $3 WHERE id = $1 AND fence = $2 AND status = 'pending'`,
      [claimed.id, claimed.fence, next],
    );
    if (wakeAfter) await wake(tx, [addOnWake(claimed)], now);
    return;
  }
  const [status, paymentId] = outcome.result === 'paid' ? ['active', outcome.paymentId] : ['failed', null];
  await tx.query(
    `UPDATE add_ons SET status = $3, payment_id = $4, settled_at = $5, lease_until = NULL
      WHERE id = $1 AND fence = $2 AND status = 'pending'`,
    [claimed.id, claimed.fence, status, paymentId, now],
  );
}

/** What the row says now, whoever acted on it. */
async function lookAt({ source }: Database, id: Id, now: number): Promise<AddOnStep> {
  const [row] = await source.query<{ status: AddOnStatus; attemptCount: number; at: Date }[]>(
    `SELECT status, attempt_count AS "attemptCount", greatest(next_attempt_at, lease_until) AS at FROM add_ons WHERE id = $1`,
    [id],
  );
  if (row?.status === 'pending')
    return { done: false, at: Math.max(row.at.getTime(), now), attempt: row.attemptCount + 1 };
  return { done: true, outcome: row?.status ?? 'failed' };
}
