/** Purchases: each recorded once by the platform's own id, however often and in whatever order it is sent (EVT-10, SALE-3). */
import { ProductDelivery } from '../../../entities/sales/product-delivery.ts';
import { Product } from '../../../entities/sales/product.ts';
import { Purchase } from '../../../entities/sales/purchase.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { recordFact } from '../../../platform/engine/facts.ts';
import { grantAccess } from '../../access/enrollments/enrollments.ts';
import { restoreOfPurchase, revokeOfPurchase } from '../../access/enrollments/sale-access.ts';
import { timeOfFact } from './times.policy.ts';
import { decimalsOf, formerDecimals } from '../platforms/currencies.policy.ts';
import type { PurchaseEvent } from '../platforms/events.ts';
import { salesAdapters } from '../platforms/index.ts';
import type { SalesPlatform } from '../../../entities/sales/values.ts';
import { SaleJustTaken } from '../notices/refusal.ts';

/** Whose sale it is, once that is known; the student's row is held. */
export interface SaleOwner {
  clubId: Id;
  platform: SalesPlatform;
  studentId: Id;
  productId: Id;
}

const purchaseColumns = columns(Purchase, [
  'id',
  'studentId',
  'subscriptionId',
  'status',
  'amount',
  'currency',
  'platform',
  'amountDecimals',
  'refundedAmount',
  'termsRank',
  'termsAt',
  'paidAt',
  'refundedAt',
  'undoneAt',
]);
type PurchaseRow = RowOf<typeof purchaseColumns>;

/**
 * Records what a notice tells of a purchase. A refund that comes first records the payment too. Facts: `purchase.paid` once,
 * `purchase.refunded` once; with the access that a purchase of its own gives and loses.
 * @param subscriptionId the subscription that it is a charge of: its access is the subscription's
 * @returns the subscription that it is known as a charge of: once known, whatever a later notice says
 * @throws SaleJustTaken
 */
export async function recordPurchase(
  tx: Transaction,
  owner: SaleOwner,
  event: PurchaseEvent,
  subscriptionId: Id | null,
  now: Date,
): Promise<Id | null> {
  const known = await findPurchase(tx, owner, event.purchaseId);
  if (known && known.studentId !== owner.studentId) throw new SaleJustTaken();
  const before = known ?? (await open(tx, owner, event, subscriptionId, now));
  const after = merged(
    before,
    { ...event, decimals: decimalsBy(owner, event) },
    await findRefundTerms(tx, owner.productId),
  );
  const ofSubscription = before.subscriptionId ?? subscriptionId;
  await tx.manager.update(
    Purchase,
    { id: before.id },
    {
      status: after.status,
      amount: after.amount,
      currency: after.currency,
      amountDecimals: after.amountDecimals,
      refundedAmount: after.refundedAmount,
      termsRank: after.termsRank,
      termsAt: after.termsAt,
      paidAt: after.paidAt,
      refundedAt: after.refundedAt,
      undoneAt: before.undoneAt ?? (after.status === 'paid' ? null : now),
      updatedAt: now,
      subscriptionId: ofSubscription,
    },
  );
  const { clubId, studentId } = owner;
  const isRefunded = before.status === 'paid' && after.status !== 'paid';
  const refundedAt = timeOfFact(event.at, now);
  if (isRefunded && before.undoneAt === null)
    await recordFact(tx, {
      clubId,
      type: 'purchase.refunded',
      studentId,
      subjectId: before.id,
      occurredAt: refundedAt,
    });
  if (isRefunded && ofSubscription === null) await revokeOfPurchase(tx, before.id, 'refund', now);
  const isPaidAfterAll = before.status === 'refunded' && after.status === 'paid';
  if (isPaidAfterAll && ofSubscription === null) await restoreOfPurchase(tx, before.id, now);
  // What it gave while it was taken for a sale of its own: the subscription has given it too.
  if (before.subscriptionId === null && ofSubscription !== null)
    await revokeOfPurchase(tx, before.id, 'cancellation', now);
  return ofSubscription;
}

async function findPurchase(
  tx: Transaction,
  { clubId, platform }: SaleOwner,
  externalId: string,
): Promise<PurchaseRow | undefined> {
  const row = await tx.one<PurchaseRow>(
    sql`SELECT ${purchaseColumns} FROM purchases WHERE club_id = ${clubId} AND platform = ${platform} AND external_id = ${externalId}`,
  );
  return row;
}

async function open(
  tx: Transaction,
  { clubId, platform, studentId, productId }: SaleOwner,
  event: PurchaseEvent,
  subscriptionId: Id | null,
  now: Date,
): Promise<PurchaseRow> {
  const row: PurchaseRow = {
    id: newId(),
    studentId,
    subscriptionId,
    status: 'paid',
    amount: String(event.amount),
    currency: event.currency,
    platform,
    amountDecimals: decimalsBy({ platform }, event),
    refundedAmount: null,
    termsRank: termsRankOf(event),
    termsAt: event.at,
    paidAt: event.paidAt,
    refundedAt: null,
    undoneAt: null,
  };
  await tx.manager.insert(Purchase, {
    id: row.id,
    clubId,
    studentId,
    productId,
    subscriptionId,
    platform,
    externalId: event.purchaseId,
    amount: row.amount,
    currency: row.currency,
    amountDecimals: row.amountDecimals,
    termsRank: row.termsRank,
    termsAt: row.termsAt,
    paidAt: row.paidAt,
    createdAt: now,
    updatedAt: now,
  });
  const occurredAt = timeOfFact(event.paidAt, now);
  await recordFact(tx, { clubId, type: 'purchase.paid', studentId, subjectId: row.id, occurredAt });
  if (subscriptionId === null) await grantMapped(tx, { clubId, studentId, productId }, 'purchase', row.id, now);
  return row;
}

/** Gives every delivery that the product is mapped to now. */
export async function grantMapped(
  tx: Transaction,
  { clubId, studentId, productId }: { clubId: Id; studentId: Id; productId: Id },
  source: 'purchase' | 'subscription',
  originId: Id,
  now: Date,
): Promise<void> {
  const mapped = await tx.rows<{ deliveryId: Id }>(
    sql`SELECT ${columns(ProductDelivery, ['deliveryId'])} FROM product_deliveries WHERE product_id = ${productId} ORDER BY delivery_id`,
  );
  // Every charge pays for more of a subscription: neither the delivery's days nor the cohort's end are its own.
  const period = source === 'subscription' ? { endsAt: null } : {};
  for (const { deliveryId } of mapped)
    await grantAccess(tx, { clubId, studentId, deliveryId, source, originId, ...period }, now);
}

const termsRankOf = ({ kind }: PurchaseEvent) => (kind === 'paid' ? 1 : 0);

/** @returns the decimals by which the platform's amount was read; null if it sends smallest units */
function decimalsBy({ platform }: Pick<SaleOwner, 'platform'>, { currency }: PurchaseEvent): number | null {
  return salesAdapters[platform].sendsDecimals ? (decimalsOf(currency) ?? null) : null;
}

interface RefundTerms {
  partialRefundEndsAccess: boolean;
}

/** The product's own setting, as it is now. */
async function findRefundTerms(tx: Transaction, productId: Id): Promise<RefundTerms> {
  const terms = await tx.one<RefundTerms>(
    sql`SELECT ${columns(Product, ['partialRefundEndsAccess'])} FROM products WHERE id = ${productId}`,
  );
  return terms ?? { partialRefundEndsAccess: false };
}

/** What both say together: the same whichever came first. */
function merged(row: PurchaseRow, event: PurchaseEvent & { decimals: number | null }, terms: RefundTerms): PurchaseRow {
  const stated = [termsRankOf(event), event.at.getTime(), event.amount, event.currency] as const;
  const stood = [row.termsRank, row.termsAt.getTime(), Number(row.amount), row.currency] as const;
  const priced = {
    ...row,
    ...(isAfter(stated, stood) && {
      termsRank: stated[0],
      termsAt: event.at,
      amount: String(event.amount),
      currency: event.currency,
      amountDecimals: event.decimals,
    }),
    paidAt: earliest(row.paidAt, event.paidAt) ?? event.paidAt,
  };
  return { ...priced, ...refundOf(row, priced, event, terms) };
}

/**
 * How much went back, and whether the sale is undone by it (ADR 0047). A refund that was taken for a full one, because it came
 * before the payment, is a partial one once the payment states a higher amount.
 */
function refundOf(
  before: PurchaseRow,
  priced: PurchaseRow,
  event: PurchaseEvent,
  { partialRefundEndsAccess }: RefundTerms,
): Pick<PurchaseRow, 'status' | 'refundedAmount' | 'refundedAt'> {
  // What went back in another currency than the payment's cannot be compared, and stays a full refund.
  const isComparable = before.refundedAmount !== null && before.currency === priced.currency;
  const known = isComparable ? Number(before.refundedAmount) : null;
  const stated = statedRefund(event, priced.currency);
  const refunded = typeof stated === 'number' ? Math.max(stated, known ?? 0) : known;
  // The setting counts for refunds, and for a payment whose refund came first.
  const partEnds = partialRefundEndsAccess && (event.kind !== 'paid' || before.status === 'refunded');
  const undoes = (given: StatedRefund) => {
    if (given === null || given === 0) return given === 0 && leastPrice(priced) === 0;
    return given === 'all' || partEnds || (given !== 'part' && given >= leastPrice(priced));
  };
  const wasTakenForFull = before.status === 'refunded' && known !== null && known >= leastPrice(before);
  const isUndone = undoes(refunded) || undoes(stated) || (before.status === 'refunded' && !wasTakenForFull);
  const isChargeback = event.kind === 'chargeback' || before.status === 'chargeback';
  const status = isChargeback ? 'chargeback' : isUndone ? 'refunded' : 'paid';
  return {
    status,
    refundedAmount: refunded === null ? null : String(refunded),
    refundedAt: earliest(before.refundedAt, stated === null ? null : event.at),
  };
}

/** In smallest units, given back in all; null for a payment. */
type StatedRefund = number | 'part' | 'all' | null;

/** A chargeback takes everything, and so does a refund in another currency, which cannot be compared. */
function statedRefund(event: PurchaseEvent, currency: string): StatedRefund {
  if (event.kind === 'paid') return null;
  if (event.kind === 'chargeback' || event.currency !== currency) return 'all';
  return event.refunded ?? event.amount;
}

/** @returns from how many smallest units on a refund is a full one. Versions up to 0.2.0 rounded some currencies to whole ones */
function leastPrice({ amount, amountDecimals, currency, platform }: PurchaseRow): number {
  const former =
    amountDecimals === null && salesAdapters[platform].sendsDecimals ? formerDecimals[currency] : undefined;
  if (former === undefined) return Number(amount);
  return Math.max(0, Number(amount) - 0.5) * 10 ** ((decimalsOf(currency) ?? former) - former);
}

function isAfter(left: readonly (number | string)[], right: readonly (number | string)[]): boolean {
  for (const [index, value] of left.entries()) {
    const other = right[index] ?? value;
    if (value !== other) return value > other;
  }
  return false;
}

function earliest(left: Date | null, right: Date | null): Date | null {
  if (left === null || right === null) return left ?? right;
  return left < right ? left : right;
}
