/**
 * The step of the workflow of an overage charge (ENG-2, BILL-10). Each step claims the row, does one thing at the payment processor, and
 * records it: it makes the invoice item, or sees to it that an invoice takes the item. The club is charged once, even if a step runs several
 * times, a process dies, or the row is lost.
 */
import { OverageCharge } from '../../../entities/billing/overage-charge.ts';
import {
  followedOutcomes,
  type BilledResource,
  type OverageChargeReason,
  type OverageChargeStatus,
  type PlanName,
} from '../../../entities/billing/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { defineLease, LeaseLost, runStep, type Claim } from '../../../platform/engine/lease.ts';
import type { Account, InvoiceItem, Invoicing } from '../../../platform/infra/invoicing.ts';
import type { Database, Queries } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import {
  chargeLeaseSeconds,
  chargesForMs,
  invoiceGraceMs,
  keyLastsMs,
  keyRestsMs,
  waitAfterOverageCharge,
  waitsForInvoiceMs,
} from './charging.policy.ts';
import { defaultCurrency, maxAmount, packSizes, planWithPrices, priceOfPacks } from './prices.policy.ts';

export interface OverageDeps {
  db: Database;
  /** Undefined without a configured payment processor. Charges of clubs with a customer then wait. */
  invoicing: Invoicing | undefined;
  failpoint: (
    name: 'overage_claimed' | 'overage_searched' | 'overage_keyed' | 'overage_charged' | 'overage_recorded',
  ) => Promise<void>;
}

export type OverageStep =
  | { done: true; outcome: OverageChargeStatus }
  /** `isCharged`: the item exists, and waits for an invoice. */
  | { done: false; at: number; attempt: number; isCharged: boolean };

interface ClaimedCharge extends Claim {
  clubId: Id;
  resource: BilledResource;
  month: string;
  packs: number;
  plan: PlanName;
  /** The reason why the last attempt did not go through. */
  reason: OverageChargeReason | null;
  customerId: string | null;
  amount: string | null;
  currency: string | null;
  keyNumber: number;
  keyedAt: Date | null;
  itemId: string | null;
  createdAt: Date;
  /** The number of attempts, including the current attempt. */
  attemptCount: number;
  /** The customers that events have named for the club. The customer of the plan is the first. */
  customerIds: string[];
  subscriptionId: string | null;
}

const claimColumns = columns(OverageCharge, [
  'id',
  'clubId',
  'fence',
  'resource',
  'packs',
  'plan',
  'reason',
  'customerId',
  'amount',
  'currency',
  'keyNumber',
  'keyedAt',
  'itemId',
  'createdAt',
  'attemptCount',
]);

/** The customers in billing events. A club that has only opened a checkout has agreed to no charge. */
const customersOfClub = sql`ARRAY(
  SELECT customer_id FROM (
    SELECT customer_id, 0 AS rank FROM club_plans WHERE club_plans.club_id = charge.club_id AND customer_id IS NOT NULL
    UNION SELECT customer_id, 1 FROM billing_events
     WHERE billing_events.club_id = charge.club_id AND customer_id IS NOT NULL AND outcome = ANY (${followedOutcomes})) AS known
  GROUP BY customer_id ORDER BY min(rank), customer_id)`;

const lease = defineLease(OverageCharge, {
  open: { status: 'pending' },
  due: 'nextAttemptAt',
  seconds: chargeLeaseSeconds,
  counts: 'attemptCount',
});

type Changes = Partial<OverageCharge>;

/** Advances the charge by one step. @param now Unix milliseconds */
export function chargeOverage(deps: OverageDeps, id: Id, now: number): Promise<OverageStep> {
  return runStep({
    claim: () =>
      lease.claim<ClaimedCharge>(
        deps.db,
        id,
        now,
        sql`SELECT ${claimColumns}, month::text AS month, ${customersOfClub} AS "customerIds",
                   (SELECT subscription_id FROM club_plans WHERE club_plans.club_id = charge.club_id) AS "subscriptionId"
              FROM claimed AS charge`,
      ),
    async act(claimed) {
      await deps.failpoint('overage_claimed');
      const changes = await advance(deps, claimed, new Date(now));
      await deps.failpoint('overage_charged');
      await lease.record(deps.db, claimed, changes);
      await deps.failpoint('overage_recorded');
    },
    state: () => readState(deps.db, id, now),
  });
}

async function advance(deps: OverageDeps, claimed: ClaimedCharge, now: Date): Promise<Changes> {
  if (claimed.itemId === null && claimed.customerIds.length === 0) return ended('waived', 'no_customer', now);
  if (!deps.invoicing) return notYet(claimed, 'not_configured', now);
  try {
    return claimed.itemId === null
      ? await addItemOnce(deps, deps.invoicing, claimed, now)
      : await seeToInvoice(deps.invoicing, claimed, claimed.itemId, now);
  } catch (error) {
    if (error instanceof LeaseLost) throw error;
    return notYet(claimed, 'processor_unreachable', now);
  }
}

/**
 * Makes the item, unless it exists. The search also finds an item whose row was lost after a failover, even if the processor has forgotten
 * the idempotency key.
 */
async function addItemOnce(
  deps: OverageDeps,
  invoicing: Invoicing,
  claimed: ClaimedCharge,
  now: Date,
): Promise<Changes> {
  const { id, clubId, resource, month } = claimed;
  const since = new Date(`${month}T00:00:00Z`);
  const candidates = new Set([...(claimed.customerId === null ? [] : [claimed.customerId]), ...claimed.customerIds]);
  for (const customerId of candidates) {
    const earlier = await invoicing.findItem(customerId, id, since);
    if (earlier) return itemMade(earlier, now);
  }
  await deps.failpoint('overage_searched');
  if (now.getTime() - claimed.createdAt.getTime() > chargesForMs)
    return ended('failed', claimed.reason ?? 'processor_unreachable', now);
  const terms = await fixTerms(deps.db, invoicing, claimed, now);
  if ('changes' in terms) return terms.changes;
  await deps.failpoint('overage_keyed');
  const { customerId, amount, currency, keyNumber } = terms;
  const description = describe(claimed);
  const item = { chargeId: id, clubId, customerId, amount, currency, month, resource, description };
  const added = await invoicing.addItem(item, `overage/${id}/${keyNumber}`);
  if (added.result === 'refused') return { ...notYet(claimed, 'refused_by_processor', now), keyedAt: null };
  return itemMade(added.item, now);
}

interface Terms {
  customerId: string;
  amount: number;
  currency: string;
  keyNumber: number;
}

/**
 * Fixes customer, amount and currency in the row before the first request with a new idempotency key. So every repetition with this key is
 * identical.
 * @returns the terms, or the changes of the row if nothing can be charged now
 * @throws LeaseLost
 */
async function fixTerms(
  db: Queries,
  invoicing: Invoicing,
  claimed: ClaimedCharge,
  now: Date,
): Promise<Terms | { changes: Changes }> {
  const { customerId: fixed, amount: fixedAmount, currency: fixedCurrency, keyNumber, keyedAt } = claimed;
  const keyAgeMs = keyedAt === null ? Infinity : now.getTime() - keyedAt.getTime();
  const isKeyGood = keyAgeMs < keyLastsMs;
  if (isKeyGood && keyedAt !== null && fixed !== null && fixedAmount !== null && fixedCurrency !== null) {
    const terms = { customerId: fixed, amount: Number(fixedAmount), currency: fixedCurrency, keyNumber };
    await saveTerms(db, claimed, { ...terms, keyedAt });
    return terms;
  }
  if (keyAgeMs < keyLastsMs + keyRestsMs) return { changes: notYet(claimed, 'processor_unreachable', now) };
  const [customerId] = claimed.customerIds;
  if (customerId === undefined) return { changes: ended('waived', 'no_customer', now) };
  const account = await invoicing.account(customerId, claimed.subscriptionId);
  if (!account) return { changes: ended('waived', 'customer_deleted', now) };
  const currency = account.currency ?? defaultCurrency;
  const amount = priceOfPacks(planWithPrices(claimed.plan), claimed.resource, currency, claimed.packs);
  if (amount === undefined) return { changes: notYet(claimed, 'currency_without_price', now) };
  if (amount > maxAmount) return { changes: notYet(claimed, 'amount_too_large', now) };
  const terms = { customerId, amount, currency, keyNumber: keyNumber + 1 };
  await saveTerms(db, claimed, { ...terms, keyedAt: now });
  return terms;
}

/** Also the last check of the lease before the request. @throws LeaseLost */
async function saveTerms(
  db: Queries,
  { id, fence }: ClaimedCharge,
  { amount, ...terms }: Terms & { keyedAt: Date },
): Promise<void> {
  const changes = { ...terms, amount: String(amount) };
  const { affected } = await db.manager.update(OverageCharge, { id, fence, status: 'pending' }, changes);
  if (affected === 0) throw new LeaseLost();
}

/** The next step, which is due immediately, sees to the invoice. */
const itemMade = ({ id, customerId, amount, currency, invoiceId }: InvoiceItem, now: Date): Changes => ({
  itemId: id,
  customerId,
  amount: String(amount),
  currency,
  chargedAt: now,
  reason: null,
  attemptCount: 0,
  ...(invoiceId === undefined ? { nextAttemptAt: now } : { invoiceId, status: 'invoiced', settledAt: now }),
});

/**
 * The next invoice of the subscription takes the item along. If none comes soon, because the subscription has ended or is paid for a whole
 * year, the service makes an invoice.
 */
async function seeToInvoice(invoicing: Invoicing, claimed: ClaimedCharge, itemId: string, now: Date): Promise<Changes> {
  const item = await invoicing.readItem(itemId);
  if (!item) return ended('waived', 'item_removed', now);
  if (item.invoiceId !== undefined)
    return { status: 'invoiced', invoiceId: item.invoiceId, reason: null, settledAt: now };
  const { customerId, currency } = item;
  const takenAt = takenBySubscription(await invoicing.account(customerId, claimed.subscriptionId), claimed, now);
  if (takenAt) return { nextAttemptAt: takenAt, reason: null, attemptCount: 0 };
  const key = `overage/${claimed.id}/invoice/${Math.floor((now.getTime() - claimed.createdAt.getTime()) / keyLastsMs)}`;
  await invoicing.invoice({ customerId, currency, chargeId: claimed.id }, key);
  const after = await invoicing.readItem(itemId);
  if (after?.invoiceId === undefined) return notYet(claimed, 'refused_by_processor', now);
  return { status: 'invoiced', invoiceId: after.invoiceId, reason: null, settledAt: now };
}

/** @returns the time at which the item must be on an invoice of the subscription; undefined if no such invoice comes soon enough */
function takenBySubscription(account: Account | undefined, { createdAt }: ClaimedCharge, now: Date): Date | undefined {
  if (account?.nextInvoiceAt === undefined) return undefined;
  const takenAt = new Date(account.nextInvoiceAt.getTime() + invoiceGraceMs);
  const isSoon = takenAt.getTime() - createdAt.getTime() <= waitsForInvoiceMs + invoiceGraceMs;
  return isSoon && takenAt > now ? takenAt : undefined;
}

const ended = (status: 'waived' | 'failed', reason: OverageChargeReason, now: Date): Changes => ({
  status,
  reason,
  settledAt: now,
});

const notYet = ({ attemptCount }: ClaimedCharge, reason: OverageChargeReason, now: Date): Changes => ({
  reason,
  nextAttemptAt: new Date(now.getTime() + waitAfterOverageCharge(attemptCount, reason)),
});

const units: Readonly<Record<BilledResource, string>> = {
  students: `${packSizes.students} students`,
  storage_bytes: `${packSizes.storage_bytes / 1_000_000_000} GB of storage`,
};

/** @returns the line of the invoice, in English like all texts for administrators, such as `Overage of March 2026: 3 x 100 students` */
function describe({ resource, month, packs }: ClaimedCharge): string {
  const named = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' });
  return `Overage of ${named.format(new Date(`${month}T00:00:00Z`))}: ${packs} x ${units[resource]}`;
}

async function readState(db: Queries, id: Id, now: number): Promise<OverageStep> {
  const row = await db.one<{ status: OverageChargeStatus; attemptCount: number; isCharged: boolean; at: Date }>(
    sql`SELECT ${columns(OverageCharge, ['status', 'attemptCount'])}, item_id IS NOT NULL AS "isCharged",
               greatest(next_attempt_at, lease_until) AS at
          FROM overage_charges WHERE id = ${id}`,
  );
  if (row?.status !== 'pending') return { done: true, outcome: row?.status ?? 'failed' };
  const { isCharged, attemptCount } = row;
  return { done: false, at: Math.max(row.at.getTime(), now), attempt: attemptCount + 1, isCharged };
}
