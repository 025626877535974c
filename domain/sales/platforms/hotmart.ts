/**
 * Hotmart's webhook, version 2.0.0 (developers.hotmart.com: webhook, "purchase-webhook" and "cancel-subscription-webhook").
 *
 * The public documentation leaves these points open. The adapter assumes:
 * - The header `X-HOTMART-HOTTOK` holds the `hottok`. Older configurations send the `hottok` in the body, and the adapter accepts this,
 * too.
 * - `price` is the amount that the buyer paid, a decimal of `currency_value`.
 * - If `purchase.status` of a refund is `PARTIALLY_REFUNDED`, the refund is partial. Hotmart's sales API has this status. The notice does
 * not state the refunded amount.
 * - `recurrence_number` identifies a late charge. If it is absent, the transaction identifies the charge.
 * - `date_next_charge` of a cancellation is the end of the paid period.
 * - A resumed subscription keeps its `subscriber.code`.
 */
import { sameText } from '../../../platform/infra/keys/vault.ts';
import type { PurchaseEvent, SalesAdapter, SalesEvent } from './events.ts';
import { NoticeRefusal } from '../notices/refusal.ts';
import { buyerOf, currencyOf, idOf, readNotice, smallestUnitsFromDecimal, type Field } from './reading.ts';

const version = '2.0.0';

/** Other events, such as a requested refund, a payment slip or a cart, do not affect access. */
const readers: Readonly<Record<string, (notice: Field) => SalesEvent[]>> = {
  PURCHASE_APPROVED: (notice) => [purchaseOf(notice, 'paid')],
  PURCHASE_COMPLETE: (notice) => [purchaseOf(notice, 'paid')],
  PURCHASE_REFUNDED: (notice) => [purchaseOf(notice, 'refunded')],
  PURCHASE_CHARGEBACK: (notice) => [purchaseOf(notice, 'chargeback')],
  // If the notice names no subscription, the event is about a payment slip that is not paid yet.
  PURCHASE_DELAYED: (notice) => (subscriptionOf(notice).exists ? [lateOf(notice)] : []),
  SUBSCRIPTION_CANCELLATION: (notice) => [canceledOf(notice)],
};

export const hotmart: SalesAdapter = {
  platform: 'hotmart',
  sendsDecimals: true,
  proofIn: { header: 'x-hotmart-hottok' },
  isProven({ body, proof }, secret) {
    const inBody = readNotice(body).at('hottok');
    return sameText(proof === '' && inBody.exists ? inBody.text() : proof, secret);
  },
  parse(body) {
    const notice = readNotice(body);
    const event = notice.at('event').text();
    if (notice.at('version').text() !== version) throw new NoticeRefusal('bad_shape', 'version');
    const reader = Object.hasOwn(readers, event) ? readers[event] : undefined;
    return reader ? reader(notice) : [];
  },
  statesTextAmount: () => false, // the platform may state the decimal amount as a text
  identify: (body) => ({
    purchaseId: idOf(body, ['data', 'purchase', 'transaction']),
    subscriptionId: idOf(body, ['data', 'subscription', 'subscriber', 'code'], ['data', 'subscriber', 'code']),
  }),
};

const subscriptionOf = (notice: Field) => notice.at('data', 'subscription', 'subscriber', 'code');

function saleOf(notice: Field) {
  return {
    at: notice.at('creation_date').time(),
    productId: notice.at('data', 'product', 'id').id(),
    buyer: buyerOf(notice.at('data', 'buyer', 'email'), notice.at('data', 'buyer', 'name')),
  };
}

function purchaseOf(notice: Field, kind: PurchaseEvent['kind']): SalesEvent {
  const purchase = notice.at('data', 'purchase');
  const sale = saleOf(notice);
  const currency = currencyOf(purchase.at('price', 'currency_value'));
  const paidAt = [purchase.at('approved_date'), purchase.at('order_date')].find(({ exists }) => exists);
  const code = subscriptionOf(notice);
  return {
    kind,
    ...sale,
    purchaseId: purchase.at('transaction').id(),
    amount: smallestUnitsFromDecimal(purchase.at('price', 'value'), currency),
    currency,
    ...(kind === 'refunded' && isPartialRefund(purchase) && { refunded: 'part' as const }),
    paidAt: paidAt?.time() ?? sale.at,
    ...(code.exists && { subscription: { id: code.id(), ...endAt(purchase.at('date_next_charge')) } }),
  };
}

/** The notice of a partial refund still states the full price. */
const isPartialRefund = (purchase: Field) => purchase.at('status').stated() === 'PARTIALLY_REFUNDED';

function lateOf(notice: Field): SalesEvent {
  const purchase = notice.at('data', 'purchase');
  const recurrence = purchase.at('recurrence_number');
  return {
    kind: 'late',
    ...saleOf(notice),
    subscriptionId: subscriptionOf(notice).id(),
    key: recurrence.exists ? `recurrence ${recurrence.id()}` : purchase.at('transaction').id(),
  };
}

function canceledOf(notice: Field): SalesEvent {
  const data = notice.at('data');
  const canceledAt = data.at('cancellation_date');
  return {
    kind: 'canceled',
    at: canceledAt.exists ? canceledAt.time() : notice.at('creation_date').time(),
    productId: data.at('product', 'id').id(),
    buyer: buyerOf(data.at('subscriber', 'email'), data.at('subscriber', 'name')),
    subscriptionId: data.at('subscriber', 'code').id(),
    ...endAt(data.at('date_next_charge')),
  };
}

function endAt(field: Field): { periodEnd?: Date } {
  return field.exists ? { periodEnd: field.time() } : {};
}
