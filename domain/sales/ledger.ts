/** Carrying out what a notice tells: whose sale it is, then the purchase and the subscription, in one transaction. */
import type { Transaction } from '../core/database.ts';
import type { Id } from '../core/ids.ts';
import type { Vault } from '../core/secrets.ts';
import { findOrOpenAccount } from '../identity/accounts.ts';
import type { PurchaseEvent, SalesEvent } from './events.ts';
import type { SalesPlatform } from './platforms.policy.ts';
import { recordPurchase, type SaleOwner } from './purchases.ts';
import { NoticeRefusal } from './refusal.ts';
import { findOrOpenSubscription, recordMark, settleSubscription } from './subscriptions.ts';

export interface Ledger {
  clubId: Id;
  platform: SalesPlatform;
}

/**
 * Carries one event out; the same one again, or an earlier one later, changes nothing.
 * @returns whom it is about, and whether they are removed: then nothing was done, and nobody is brought back
 * @throws NoticeRefusal unknown_product; DomainError limit_reached
 */
export async function carryOut(
  tx: Transaction,
  vault: Vault,
  ledger: Ledger,
  event: SalesEvent,
  now: Date,
): Promise<{ studentId: Id; removed: boolean }> {
  const known = await holdKnownOwner(tx, ledger, event);
  if (known?.removed) return { studentId: known.studentId, removed: true };
  const productId = known?.productId ?? (await findProduct(tx, ledger, event.productId));
  const studentId =
    known?.studentId ??
    (await findOrOpenAccount(tx, vault, ledger.clubId, { ...event.buyer, invited: true }, now)).studentId;
  const owner: SaleOwner = { ...ledger, studentId, productId };
  const externalId = subscriptionOf(event);
  const subscriptionId = externalId === undefined ? null : await findOrOpenSubscription(tx, owner, externalId, now);

  if (isPurchase(event)) await recordPurchase(tx, owner, event, subscriptionId, now);
  else if (subscriptionId !== null) await recordMark(tx, owner, subscriptionId, event, now);
  if (subscriptionId !== null) {
    const periodEnd = isPurchase(event) ? event.subscription?.periodEnd : event.periodEnd;
    await settleSubscription(tx, owner, subscriptionId, { at: event.at, periodEnd }, now);
  }
  return { studentId, removed: false };
}

const isPurchase = (event: SalesEvent): event is PurchaseEvent => event.kind !== 'late' && event.kind !== 'canceled';

function subscriptionOf(event: SalesEvent): string | undefined {
  return isPurchase(event) ? event.subscription?.id : event.subscriptionId;
}

interface KnownOwner {
  studentId: Id;
  productId: Id;
  removed: boolean;
}

/**
 * A sale belongs to whom its first notice named: found by its own identity, whatever address the buyer has by now. Their
 * row is held before anything of the sale is read for good.
 */
async function holdKnownOwner(
  tx: Transaction,
  { clubId, platform }: Ledger,
  event: SalesEvent,
): Promise<KnownOwner | undefined> {
  const [known] = await tx.query<{ studentId: Id; productId: Id }[]>(
    `SELECT student_id AS "studentId", product_id AS "productId" FROM purchases
      WHERE club_id = $1 AND platform = $2 AND external_id = $3
     UNION ALL
     SELECT student_id, product_id FROM subscriptions WHERE club_id = $1 AND platform = $2 AND external_id = $4
      LIMIT 1`,
    [clubId, platform, isPurchase(event) ? event.purchaseId : null, subscriptionOf(event) ?? null],
  );
  if (!known) return undefined;
  const [student] = await tx.query<{ removed: boolean }[]>(
    `SELECT removed_at IS NOT NULL AS removed FROM students WHERE id = $1 FOR NO KEY UPDATE`,
    [known.studentId],
  );
  return { ...known, removed: student?.removed ?? true };
}

async function findProduct(tx: Transaction, { clubId, platform }: Ledger, externalId: string): Promise<Id> {
  const [product] = await tx.query<{ id: Id }[]>(
    `SELECT id FROM products WHERE club_id = $1 AND platform = $2 AND external_id = $3 FOR SHARE`,
    [clubId, platform, externalId],
  );
  if (!product) throw new NoticeRefusal('unknown_product');
  return product.id;
}
