/** Purchases: each recorded once by the platform's own id, however often and in whatever order it is sent (EVT-10, SALE-3). */
import { ProductDelivery } from '../../../entities/sales/product-delivery.ts';
import { Purchase } from '../../../entities/sales/purchase.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { recordFact } from '../../../platform/engine/facts.ts';
import { grantAccess } from '../../access/enrollments/enrollments.ts';
import { revokeOfPurchase } from '../../access/enrollments/sale-access.ts';
import { timeOfFact } from './times.policy.ts';
import type { PurchaseEvent } from '../platforms/events.ts';
import type { PurchaseStatus, SalesPlatform } from '../../../entities/sales/values.ts';
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
  'termsRank',
  'termsAt',
  'paidAt',
  'refundedAt',
]);
type PurchaseRow = RowOf<typeof purchaseColumns>;

/** Chargeback wins over refund, and either over paid. */
const ranks: Readonly<Record<PurchaseStatus, number>> = { paid: 0, refunded: 1, chargeback: 2 };

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
  const after = merged(before, event);
  const ofSubscription = before.subscriptionId ?? subscriptionId;
  await tx.manager.update(
    Purchase,
    { id: before.id },
    {
      status: after.status,
      amount: after.amount,
      currency: after.currency,
      termsRank: after.termsRank,
      termsAt: after.termsAt,
      paidAt: after.paidAt,
      refundedAt: after.refundedAt,
      updatedAt: now,
      subscriptionId: ofSubscription,
    },
  );
  const { clubId, studentId } = owner;
  const isRefunded = before.status === 'paid' && after.status !== 'paid';
  const refundedAt = timeOfFact(event.at, now);
  if (isRefunded)
    await recordFact(tx, {
      clubId,
      type: 'purchase.refunded',
      studentId,
      subjectId: before.id,
      occurredAt: refundedAt,
    });
  if (isRefunded && ofSubscription === null) await revokeOfPurchase(tx, before.id, 'refund', now);
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
    termsRank: termsRankOf(event),
    termsAt: event.at,
    paidAt: event.paidAt,
    refundedAt: null,
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

/** What both say together: the same whichever came first. */
function merged(row: PurchaseRow, event: PurchaseEvent): PurchaseRow {
  const terms = [termsRankOf(event), event.at.getTime(), event.amount, event.currency] as const;
  const stood = [row.termsRank, row.termsAt.getTime(), Number(row.amount), row.currency] as const;
  const undone = event.kind === 'paid' ? null : event.at;
  return {
    ...row,
    status: ranks[event.kind] > ranks[row.status] ? event.kind : row.status,
    ...(isAfter(terms, stood) && {
      termsRank: terms[0],
      termsAt: event.at,
      amount: String(event.amount),
      currency: event.currency,
    }),
    paidAt: earliest(row.paidAt, event.paidAt) ?? event.paidAt,
    refundedAt: earliest(row.refundedAt, undone),
  };
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
