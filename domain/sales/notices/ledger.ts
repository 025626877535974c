/** Applies the events of a notice. In one transaction, it finds the owner of the sale, and records the purchase and the subscription. */
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { Product } from '../../../entities/sales/product.ts';
import { Purchase } from '../../../entities/sales/purchase.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { findOrOpenAccount } from '../../identity/accounts/accounts.ts';
import type { PurchaseEvent, SaleIds, SalesEvent } from '../platforms/events.ts';
import type { SalesPlatform } from '../../../entities/sales/values.ts';
import { recordPurchase, type SaleOwner } from '../purchases/purchases.ts';
import { NoticeRefusal, SaleJustTaken } from './refusal.ts';
import { findOrOpenSubscription, recordMark, settleSubscription } from '../purchases/subscriptions.ts';

export interface Ledger {
  clubId: Id;
  platform: SalesPlatform;
}

/**
 * Applies one sales event. If the same event is applied twice, or an older event is applied later, nothing changes.
 * @returns the student of the event, and whether the student was removed. If the student was removed, the function changes nothing and
 * opens no new account
 * @throws NoticeRefusal unknown_product, sale_mismatch; SaleJustTaken; DomainError limit_reached
 */
export async function applyEvent(
  tx: Transaction,
  vault: Vault,
  ledger: Ledger,
  event: SalesEvent,
  now: Date,
): Promise<{ studentId: Id; removed: boolean }> {
  const ids = idsOf(event);
  const knownOwner = await lockKnownOwner(tx, ledger, ids);
  if (knownOwner?.removed) return { studentId: knownOwner.studentId, removed: true };
  if (knownOwner) requireSameSale(knownOwner, event);
  const { studentId, productId } = knownOwner ?? (await openOwner(tx, vault, ledger, event, now));
  const owner: SaleOwner = { ...ledger, studentId, productId };
  const subscriptionOfEvent =
    ids.subscriptionId === undefined ? null : await findOrOpenSubscription(tx, owner, ids.subscriptionId, now);

  const subscriptionId = isPurchase(event)
    ? await recordPurchase(tx, owner, event, subscriptionOfEvent, now)
    : subscriptionOfEvent;
  if (subscriptionId === null) return { studentId, removed: false };
  if (!isPurchase(event)) await recordMark(tx, owner, subscriptionId, event, now);
  const periodEnd = isPurchase(event) ? event.subscription?.periodEnd : event.periodEnd;
  await settleSubscription(tx, owner, subscriptionId, { at: event.at, periodEnd }, now);
  return { studentId, removed: false };
}

const isPurchase = (event: SalesEvent): event is PurchaseEvent => event.kind !== 'late' && event.kind !== 'canceled';

function idsOf(event: SalesEvent): SaleIds {
  if (!isPurchase(event)) return { subscriptionId: event.subscriptionId };
  return { purchaseId: event.purchaseId, subscriptionId: event.subscription?.id };
}

/** Finds or opens an account for a sale whose owner is not known yet. @throws SaleJustTaken, NoticeRefusal, DomainError limit_reached */
async function openOwner(
  tx: Transaction,
  vault: Vault,
  ledger: Ledger,
  event: SalesEvent,
  now: Date,
): Promise<{ studentId: Id; productId: Id }> {
  const productId = await findProduct(tx, ledger, event.productId);
  const account = { ...event.buyer, openedBy: 'sale', invited: true } as const;
  const { studentId } = await findOrOpenAccount(tx, vault, ledger.clubId, account, now);
  // While this transaction waited for the lock on the club's number of students, another transaction may have recorded this sale.
  const [concurrentOwner] = await findKnownOwners(tx, ledger, idsOf(event));
  if (concurrentOwner && concurrentOwner.studentId !== studentId) throw new SaleJustTaken();
  return { studentId, productId: concurrentOwner?.productId ?? productId };
}

/** Two shops of one platform may use the same ids. So if the product and the buyer differ, the sale is a different sale. */
function requireSameSale(known: KnownOwner, event: SalesEvent): void {
  if (known.productExternalId !== event.productId && known.email !== event.buyer.email)
    throw new NoticeRefusal('sale_mismatch');
}

interface Owner {
  studentId: Id;
  productId: Id;
  productExternalId: string;
}

export interface KnownOwner extends Owner {
  /** Null for a removed student. */
  email: string | null;
  removed: boolean;
}

/** Finds the owner of the purchase and the owner of its subscription. Both should be the same student. */
async function findKnownOwners(tx: Transaction, { clubId, platform }: Ledger, ids: SaleIds): Promise<Owner[]> {
  return tx.rows<Owner>(sql`SELECT DISTINCT ON (student_id) ${columns(Purchase, ['studentId'], 'sale')},
            ${columns(Product, { productId: 'id', productExternalId: 'externalId' }, 'product')}
       FROM (SELECT 1 AS place, student_id, product_id FROM purchases WHERE club_id = ${clubId} AND platform = ${platform} AND external_id = ${ids.purchaseId ?? null}
              UNION ALL
             SELECT 2, student_id, product_id FROM subscriptions WHERE club_id = ${clubId} AND platform = ${platform} AND external_id = ${ids.subscriptionId ?? null}) sale
       JOIN products product ON product.id = sale.product_id
      ORDER BY student_id, place`);
}

/**
 * Finds the owner of a sale by the ids of the sale, and locks the owner's row. The current address of the buyer does not matter: the sale
 * belongs to the student whom the first notice of the sale named. Every decision must depend only on data that was read after the row was
 * locked.
 * @throws NoticeRefusal sale_mismatch (the purchase belongs to one student, and the subscription to another)
 */
export async function lockKnownOwner(tx: Transaction, ledger: Ledger, ids: SaleIds): Promise<KnownOwner | undefined> {
  const [owner, otherOwner] = await findKnownOwners(tx, ledger, ids);
  if (otherOwner) throw new NoticeRefusal('sale_mismatch');
  if (!owner) return undefined;
  const student = await tx.one<{ email: string | null; removed: boolean }>(
    sql`SELECT email, removed_at IS NOT NULL AS removed FROM students WHERE id = ${owner.studentId} FOR NO KEY UPDATE`,
  );
  return { ...owner, email: student?.email ?? null, removed: student?.removed ?? true };
}

async function findProduct(tx: Transaction, { clubId, platform }: Ledger, externalId: string): Promise<Id> {
  const product = await tx.one<{ id: Id }>(
    sql`SELECT id FROM products WHERE club_id = ${clubId} AND platform = ${platform} AND external_id = ${externalId} FOR SHARE`,
  );
  if (!product) throw new NoticeRefusal('unknown_product');
  return product.id;
}
