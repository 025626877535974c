/** Records each purchase once, under the platform's id, however many notices about it arrive and in any order (EVT-10, SALE-3). */
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

/** The owner, the club, the platform and the product of a sale. The caller holds the lock of the student. */
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
 * Records a purchase notice. If the notice of a refund arrives first, the function also records the payment. It records the facts
 * `purchase.paid` and `purchase.refunded` once each. If the purchase belongs to no subscription, a payment also grants access, and a refund
 * revokes that access.
 * @param subscriptionId the subscription, if this purchase is a charge of a subscription. In this case the subscription grants the access,
 * and not the purchase
 * @returns the id of the subscription to which this charge belongs; null if no notice has named a subscription
 * @throws SaleJustTaken
 */
export async function recordPurchase(
  tx: Transaction,
  owner: SaleOwner,
  event: PurchaseEvent,
  subscriptionId: Id | null,
  now: Date,
): Promise<Id | null> {
  const existingPurchase = await findPurchase(tx, owner, event.purchaseId);
  if (existingPurchase && existingPurchase.studentId !== owner.studentId) throw new SaleJustTaken();
  const before = existingPurchase ?? (await insertPurchase(tx, owner, event, subscriptionId, now));
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
  // An earlier notice did not name the subscription, so the purchase itself granted access. This access is revoked, because the
  // subscription grants access too.
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

async function insertPurchase(
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

/** Grants every delivery that the product names now. */
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
  // A subscription's access lasts as long as its charges are paid, so neither the delivery's days nor the cohort limit it.
  const period = source === 'subscription' ? { endsAt: null } : {};
  for (const { deliveryId } of mapped)
    await grantAccess(tx, { clubId, studentId, deliveryId, source, originId, ...period }, now);
}

const termsRankOf = ({ kind }: PurchaseEvent) => (kind === 'paid' ? 1 : 0);

/** @returns the number of decimals with which the service read the platform's amount; null if the platform sends smallest units */
function decimalsBy({ platform }: Pick<SaleOwner, 'platform'>, { currency }: PurchaseEvent): number | null {
  return salesAdapters[platform].sendsDecimals ? (decimalsOf(currency) ?? null) : null;
}

interface RefundTerms {
  partialRefundEndsAccess: boolean;
}

/** Reads the product's current setting for partial refunds. */
async function findRefundTerms(tx: Transaction, productId: Id): Promise<RefundTerms> {
  const terms = await tx.one<RefundTerms>(
    sql`SELECT ${columns(Product, ['partialRefundEndsAccess'])} FROM products WHERE id = ${productId}`,
  );
  return terms ?? { partialRefundEndsAccess: false };
}

/** Merges an event into the stored purchase. The result does not depend on the order of the events. */
function merged(row: PurchaseRow, event: PurchaseEvent & { decimals: number | null }, terms: RefundTerms): PurchaseRow {
  const eventTerms = [termsRankOf(event), event.at.getTime(), event.amount, event.currency] as const;
  const rowTerms = [row.termsRank, row.termsAt.getTime(), Number(row.amount), row.currency] as const;
  const priced = {
    ...row,
    ...(isAfter(eventTerms, rowTerms) && {
      termsRank: eventTerms[0],
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
 * Returns the refunded amount, and whether the refund undoes the sale (ADR 0047). If a refund arrives before its payment, it first counts
 * as a full refund. When the payment arrives and states a higher amount, the refund becomes a partial refund.
 */
function refundOf(
  before: PurchaseRow,
  priced: PurchaseRow,
  event: PurchaseEvent,
  { partialRefundEndsAccess }: RefundTerms,
): Pick<PurchaseRow, 'status' | 'refundedAmount' | 'refundedAt'> {
  // Amounts in different currencies cannot be compared, so the refund stays full.
  const isComparable = before.refundedAmount !== null && before.currency === priced.currency;
  const earlierRefund = isComparable ? Number(before.refundedAmount) : null;
  const stated = statedRefund(event, priced.currency);
  const refunded = typeof stated === 'number' ? Math.max(stated, earlierRefund ?? 0) : earlierRefund;
  // The setting of the product applies to a refund, and to a payment after its refund.
  const partEnds = partialRefundEndsAccess && (event.kind !== 'paid' || before.status === 'refunded');
  const undoes = (refund: StatedRefund) => {
    if (refund === null || refund === 0) return refund === 0 && leastPrice(priced) === 0;
    return refund === 'all' || partEnds || (refund !== 'part' && refund >= leastPrice(priced));
  };
  const wasTakenForFull = before.status === 'refunded' && earlierRefund !== null && earlierRefund >= leastPrice(before);
  const isUndone = undoes(refunded) || undoes(stated) || (before.status === 'refunded' && !wasTakenForFull);
  const isChargeback = event.kind === 'chargeback' || before.status === 'chargeback';
  const status = isChargeback ? 'chargeback' : isUndone ? 'refunded' : 'paid';
  return {
    status,
    refundedAmount: refunded === null ? null : String(refunded),
    refundedAt: earliest(before.refundedAt, stated === null ? null : event.at),
  };
}

/** The total refund in smallest units. Null for a payment. */
type StatedRefund = number | 'part' | 'all' | null;

/** A chargeback refunds everything. So does a refund in another currency, because the amounts cannot be compared. */
function statedRefund(event: PurchaseEvent, currency: string): StatedRefund {
  if (event.kind === 'paid') return null;
  if (event.kind === 'chargeback' || event.currency !== currency) return 'all';
  return event.refunded ?? event.amount;
}

/**
 * @returns the smallest refund that counts as full, in smallest units. It can be below the stored amount, because versions up to 0.2.0
 * rounded some currencies to whole units
 */
function leastPrice({ amount, amountDecimals, currency, platform }: PurchaseRow): number {
  const former =
    amountDecimals === null && salesAdapters[platform].sendsDecimals ? formerDecimals[currency] : undefined;
  if (former === undefined) return Number(amount);
  return Math.max(0, Number(amount) - 0.5) * 10 ** ((decimalsOf(currency) ?? former) - former);
}

function isAfter(later: readonly (number | string)[], earlier: readonly (number | string)[]): boolean {
  for (const [index, value] of later.entries()) {
    const other = earlier[index] ?? value;
    if (value !== other) return value > other;
  }
  return false;
}

function earliest(one: Date | null, other: Date | null): Date | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}
