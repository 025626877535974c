/**
 * This service's own format of notices, for platforms without an adapter and for scripts. docs/reference/sales-notices.md describes the
 * format. If the connection has a secret, the sender signs the body with HMAC-SHA256, and sends the signature in hexadecimal in the header
 * `x-notice-signature`.
 */
import { createHmac } from 'node:crypto';
import { sameText } from '../../../platform/infra/keys/vault.ts';
import type { PurchaseEvent, SalesAdapter, SalesEvent } from './events.ts';
import { buyerOf, currencyOf, idOf, isText, readNotice, smallestUnitsOf, type Field } from './reading.ts';

const purchaseKinds: Readonly<Record<string, PurchaseEvent['kind']>> = {
  'purchase.paid': 'paid',
  'purchase.refunded': 'refunded',
  'purchase.chargeback': 'chargeback',
};

export const generic: SalesAdapter = {
  platform: 'generic',
  sendsDecimals: false,
  proofIn: { header: 'x-notice-signature' },
  isProven: ({ raw, proof }, secret) =>
    sameText(proof.toLowerCase(), createHmac('sha256', secret).update(raw).digest('hex')),
  parse(body) {
    const notice = readNotice(body);
    const event = notice.at('event').text();
    const kind = Object.hasOwn(purchaseKinds, event) ? purchaseKinds[event] : undefined;
    if (kind !== undefined) return [purchaseOf(notice, kind)];
    if (event === 'subscription.past_due') return [lateOf(notice)];
    if (event === 'subscription.canceled') return [canceledOf(notice)];
    return [];
  },
  statesTextAmount: (body) => isText(body, ['purchase', 'amount']),
  identify: (body) => ({
    purchaseId: idOf(body, ['purchase', 'id']),
    subscriptionId: idOf(body, ['subscription', 'id']),
  }),
};

function saleOf(notice: Field) {
  return {
    at: notice.at('occurred_at').time(),
    productId: notice.at('product', 'id').id(),
    buyer: buyerOf(notice.at('buyer', 'email'), notice.at('buyer', 'name')),
  };
}

function purchaseOf(notice: Field, kind: PurchaseEvent['kind']): SalesEvent {
  const purchase = notice.at('purchase');
  const sale = saleOf(notice);
  const paidAt = purchase.at('paid_at');
  const refunded = purchase.at('refunded_amount');
  return {
    kind,
    ...sale,
    purchaseId: purchase.at('id').id(),
    amount: smallestUnitsOf(purchase.at('amount')),
    ...(kind === 'refunded' && refunded.exists && { refunded: smallestUnitsOf(refunded) }),
    currency: currencyOf(purchase.at('currency')),
    paidAt: paidAt.exists ? paidAt.time() : sale.at,
    ...(notice.at('subscription').exists && {
      subscription: { id: notice.at('subscription', 'id').id(), ...periodEndOf(notice) },
    }),
  };
}

function lateOf(notice: Field): SalesEvent {
  const subscription = notice.at('subscription');
  return {
    kind: 'late',
    ...saleOf(notice),
    subscriptionId: subscription.at('id').id(),
    key: subscription.at('lateness').id(),
    ...periodEndOf(notice),
  };
}

function canceledOf(notice: Field): SalesEvent {
  return {
    kind: 'canceled',
    ...saleOf(notice),
    subscriptionId: notice.at('subscription', 'id').id(),
    ...periodEndOf(notice),
  };
}

function periodEndOf(notice: Field): { periodEnd?: Date } {
  const end = notice.at('subscription', 'current_period_end');
  return end.exists ? { periodEnd: end.time() } : {};
}
