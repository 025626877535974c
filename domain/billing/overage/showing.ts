/** Shows a club its overage: the excess of the current month with its cost so far, and the charges of the last months (BILL-11). */
import { OverageCharge } from '../../../entities/billing/overage-charge.ts';
import { billedResources, type BilledResource, type PlanName } from '../../../entities/billing/values.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { LocalMonth } from '../../../platform/core/time/local-time.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import { plans } from '../plans.policy.ts';
import { defaultCurrency, packsOf, planWithPrices, priceOfPacks } from './prices.policy.ts';

type OverageMonth = NonNullable<RecordOf<'ClubPlan'>['overage']>;
type ChargeRecord = NonNullable<RecordOf<'ClubPlan'>['overage_charges']>[number];

/** A year. A longer history would make the read slower. */
const monthsShown = 12;

interface OpenOverage {
  resource: BilledResource;
  excess: string;
  plan: PlanName | null;
}

interface Shown {
  clubId: Id;
  /** The club's plan. */
  plan: PlanName;
  /** The currency of the club's subscription, or null. */
  currency: string | null;
  /** If false, the cost is absent. */
  showsCosts: boolean;
}

/**
 * @returns the current month; undefined if the plan bills no overage and nothing was exceeded this month
 */
export async function readOverageMonth(
  db: Queries,
  { clubId, plan, currency, showsCosts }: Shown,
  { month, endsAt }: LocalMonth,
): Promise<OverageMonth | undefined> {
  const open = await db.rows<OpenOverage>(sql`
    SELECT DISTINCT ON (resource) resource, excess, plan FROM overages
     WHERE club_id = ${clubId} AND month >= ${month} AND closed_at IS NULL AND plan IS NOT NULL ORDER BY resource, month`);
  const resources = billedResources.flatMap((resource) => {
    const row = open.find((one) => one.resource === resource);
    const isBilled = plans[plan].allowances[resource].overage === 'billed';
    if (!row && !isBilled) return [];
    const cost = costOf(resource, Number(row?.excess ?? 0), row?.plan ?? plan, currency);
    return [[resource, showsCosts ? cost : { excess: cost.excess, packs: cost.packs }] as const];
  });
  return resources.length === 0
    ? undefined
    : { month, ends_at: endsAt.toISOString(), ...Object.fromEntries(resources) };
}

/** The cost is absent if the table of prices lacks the currency. */
function costOf(resource: BilledResource, excess: number, plan: PlanName, currency: string | null) {
  const paidIn = currency ?? defaultCurrency;
  const packs = packsOf(resource, excess);
  const amount = priceOfPacks(planWithPrices(plan), resource, paidIn, packs);
  return { excess, packs, ...(amount !== undefined && { amount, currency: paidIn }) };
}

const chargeColumns = columns(
  OverageCharge,
  ['resource', 'excess', 'packs', 'status', 'reason', 'amount', 'currency', 'itemId', 'chargedAt', 'settledAt'],
  'charge',
);
type ChargeRow = Pick<
  OverageCharge,
  'resource' | 'excess' | 'packs' | 'status' | 'reason' | 'amount' | 'currency' | 'itemId' | 'chargedAt' | 'settledAt'
> & {
  month: string;
  isPaid: boolean;
  hasFailedPayment: boolean;
};

/** @returns the charges of the last year, newest month first */
export async function readCharges(db: Queries, clubId: Id): Promise<ChargeRecord[]> {
  const ofInvoice = (type: string) =>
    sql`EXISTS (SELECT FROM billing_events event
                 WHERE event.invoice_id = charge.invoice_id AND event.club_id = charge.club_id AND event.type = ${type})`;
  const rows = await db.rows<ChargeRow>(sql`
    SELECT ${chargeColumns}, charge.month::text AS month, ${ofInvoice('invoice.paid')} AS "isPaid",
           ${ofInvoice('invoice.payment_failed')} AS "hasFailedPayment"
      FROM overage_charges charge WHERE charge.club_id = ${clubId}
     ORDER BY charge.month DESC, charge.resource DESC LIMIT ${monthsShown * billedResources.length}`);
  return rows.map(present);
}

function present(row: ChargeRow): ChargeRecord {
  const { resource, month, excess, packs, reason, amount, currency, chargedAt, settledAt } = row;
  return {
    resource,
    month,
    excess: Number(excess),
    packs,
    status: shownStatus(row),
    ...(amount !== null && currency !== null && { amount: Number(amount), currency }),
    ...(reason !== null && { reason }),
    ...(chargedAt && { charged_at: chargedAt.toISOString() }),
    ...(settledAt && { settled_at: settledAt.toISOString() }),
  };
}

/** The events of the invoice count in any order: a payment also counts if the event of an earlier failure arrives after it. */
function shownStatus({ status, itemId, isPaid, hasFailedPayment }: ChargeRow): ChargeRecord['status'] {
  if (status === 'pending') return itemId === null ? 'pending' : 'charged';
  if (status !== 'invoiced') return status;
  if (isPaid) return 'paid';
  return hasFailedPayment ? 'payment_failed' : 'invoiced';
}
