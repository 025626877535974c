/**
 * The step of an add-on's workflow: it claims the add-on, charges the club and records the outcome (ENG-2). The club is charged once, even
 * if the step runs several times or a process dies.
 */
import type { Queries, Database, Transaction } from '../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import type { Id } from '../../platform/core/ids.ts';
import { AddOn } from '../../entities/billing/add-on.ts';
import { defineLease, ignoreLostLease, runStep, type Claim } from '../../platform/engine/lease.ts';
import { wake } from '../../platform/engine/wakes.ts';
import { addOnLeaseSeconds, chargesUntilMs, waitAfterCharge } from './add-ons.policy.ts';
import type { AddOnKind, AddOnStatus } from '../../entities/billing/values.ts';
import type { ChargeOutcome, PaymentProcessor } from '../../platform/infra/payments.ts';

export interface AddOnDeps {
  db: Database;
  /** Undefined without a configured payment processor. Pending add-ons then wait. */
  processor: PaymentProcessor | undefined;
}

export type AddOnStep = { done: true; outcome: AddOnStatus } | { done: false; at: number; attempt: number };

export interface ClaimedAddOn extends Claim {
  clubId: Id;
  /** The number of attempts, including the current attempt. */
  attemptCount: number;
  amount: number;
  currency: string;
  customerId: string;
  subscriptionId: string | null;
  paymentMethodId: string | null;
  kind: AddOnKind;
  quantity: number;
  createdAt: Date;
}

export const claimColumns = columns(AddOn, [
  'id',
  'clubId',
  'fence',
  'attemptCount',
  'amount',
  'currency',
  'customerId',
  'paymentMethodId',
  'kind',
  'quantity',
  'createdAt',
]).and<{ subscriptionId: string | null }>(
  sql`(SELECT subscription_id FROM club_plans WHERE club_plans.club_id = add_ons.club_id) AS "subscriptionId"`,
);

const lease = defineLease(AddOn, {
  open: { status: 'pending' },
  due: 'nextAttemptAt',
  seconds: addOnLeaseSeconds,
  counts: 'attemptCount',
});

/** Advances the add-on by one step. @param now Unix milliseconds */
export function settleAddOn(deps: AddOnDeps, id: Id, now: number): Promise<AddOnStep> {
  return runStep({
    claim: () => lease.claim<ClaimedAddOn>(deps.db, id, now, sql`SELECT ${claimColumns} FROM claimed AS add_ons`),
    act: (claimed) => chargeClaimed(deps, claimed, new Date(now)),
    state: () => readState(deps.db, id, now),
  });
}

/**
 * @param wakeAfter whether to wake the add-on's workflow if the add-on stays pending. The workflow passes false, because it continues
 * without a wake
 */
export async function chargeClaimed(
  deps: AddOnDeps,
  claimed: ClaimedAddOn,
  now: Date,
  { wakeAfter = false } = {},
): Promise<void> {
  const outcome = await chargeOnce(deps, claimed, now);
  await deps.db.transaction((tx) => record(tx, claimed, outcome, now, wakeAfter));
}

async function chargeOnce({ db, processor }: AddOnDeps, claimed: ClaimedAddOn, now: Date): Promise<ChargeOutcome> {
  if (!processor) return { result: 'unknown', code: 'not_configured' };
  const { id: addOnId, customerId, createdAt } = claimed;
  try {
    // The first attempt also looks for an earlier charge, because a failover to a replica may have lost the row of an earlier attempt
    // (BILL-6).
    const earlier = await processor.findCharge(customerId, addOnId);
    if (earlier) return earlier;
    if (now.getTime() - createdAt.getTime() > chargesUntilMs) return { result: 'declined' };
    const paymentMethodId =
      claimed.paymentMethodId ?? (await processor.paymentMethodOf(customerId, claimed.subscriptionId));
    if (paymentMethodId === undefined) return { result: 'declined' };
    const isStillClaimed = await savePaymentMethod(db, claimed, paymentMethodId);
    if (!isStillClaimed) return { result: 'unknown', code: 'claimed_anew' };
    return await processor.charge({ ...claimed, addOnId, paymentMethodId });
  } catch (error) {
    return { result: 'unknown', code: error instanceof Error ? error.name : 'unknown' };
  }
}

/** Saves the payment method before the first charge, because a repeated request with the same idempotency key must be identical. */
async function savePaymentMethod(db: Queries, { id, fence }: ClaimedAddOn, paymentMethodId: string): Promise<boolean> {
  const { affected } = await db.manager.update(AddOn, { id, fence, status: 'pending' }, { paymentMethodId });
  return affected !== 0;
}

/**
 * Records the outcome of a charge, unless the lease is lost. If the outcome is unknown and `wakeAfter` is true, the workflow is woken even
 * if the lease is lost.
 */
async function record(
  tx: Transaction,
  claimed: ClaimedAddOn,
  outcome: ChargeOutcome,
  now: Date,
  wakeAfter: boolean,
): Promise<void> {
  await lease.record(tx, claimed, changesBy(outcome, claimed, now)).catch(ignoreLostLease);
  if (outcome.result === 'unknown' && wakeAfter) await wake(tx, 'addOn', [claimed], now);
}

function changesBy(outcome: ChargeOutcome, { attemptCount }: ClaimedAddOn, now: Date): Partial<AddOn> {
  if (outcome.result === 'unknown') return { nextAttemptAt: new Date(now.getTime() + waitAfterCharge(attemptCount)) };
  if (outcome.result === 'paid') return { status: 'active', paymentId: outcome.paymentId, settledAt: now };
  return { status: 'failed', paymentId: null, settledAt: now };
}

async function readState(db: Queries, id: Id, now: number): Promise<AddOnStep> {
  const row = await db.one<{ status: AddOnStatus; attemptCount: number; at: Date }>(
    sql`SELECT ${columns(AddOn, ['status', 'attemptCount'])}, greatest(next_attempt_at, lease_until) AS at
          FROM add_ons WHERE id = ${id}`,
  );
  if (row?.status === 'pending')
    return { done: false, at: Math.max(row.at.getTime(), now), attempt: row.attemptCount + 1 };
  return { done: true, outcome: row?.status ?? 'failed' };
}
