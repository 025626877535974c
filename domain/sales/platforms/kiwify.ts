/**
 * Kiwify's webhook as of 2026 (docs.kiwify.com.br: "Receber e validar webhooks", "Eventos de assinatura"). Kiwify states no version of the
 * webhook.
 *
 * The public documentation leaves these points open. The adapter assumes:
 * - Times without a zone, such as `2026-03-02 09:15`, are Brazilian (UTC-3).
 * - `Commissions.charge_amount` is the amount that the buyer paid, in the smallest unit of `Commissions.currency`.
 * - The end of the last paid period identifies a late charge. This end stays the same if the platform repeats the charge.
 * - The time of a cancellation, a late charge or a chargeback is the `updated_at` of its order.
 *
 * Some receivers report bodies with the order inside another object. The documentation does not describe them, and the adapter does not
 * read them.
 */
import { createHmac } from 'node:crypto';
import { sameText } from '../../../platform/infra/keys/vault.ts';
import type { PurchaseEvent, SalesAdapter, SalesEvent } from './events.ts';
import { buyerOf, currencyOf, idOf, isText, readNotice, smallestUnitsOf, type Field } from './reading.ts';

const zone = '-03:00';

/**
 * The functions that read the notices of each `webhook_event_type`. Other events, such as a payment slip, a refused charge or an abandoned
 * cart, do not affect access.
 */
const readers: Readonly<Record<string, (notice: Field) => SalesEvent>> = {
  order_approved: (notice) => purchaseOf(notice, 'paid'),
  subscription_renewed: (notice) => purchaseOf(notice, 'paid'),
  order_refunded: (notice) => purchaseOf(notice, 'refunded'),
  chargeback: (notice) => purchaseOf(notice, 'chargeback'),
  subscription_late: lateOf,
  subscription_canceled: canceledOf,
};

export const kiwify: SalesAdapter = {
  platform: 'kiwify',
  sendsDecimals: false,
  proofIn: 'signature',
  isProven: ({ raw, proof }, secret) =>
    sameText(proof.toLowerCase(), createHmac('sha1', secret).update(raw).digest('hex')),
  parse(body) {
    const notice = readNotice(body);
    const event = notice.at('webhook_event_type').text();
    const reader = Object.hasOwn(readers, event) ? readers[event] : undefined;
    return reader ? [reader(notice)] : [];
  },
  statesTextAmount: (body) => isText(body, ['Commissions', 'charge_amount']),
  identify: (body) => ({
    purchaseId: idOf(body, ['order_id']),
    subscriptionId: idOf(body, ['subscription_id'], ['Subscription', 'id']),
  }),
};

function saleOf(notice: Field) {
  return {
    productId: notice.at('Product', 'product_id').id(),
    buyer: buyerOf(notice.at('Customer', 'email'), notice.at('Customer', 'full_name')),
  };
}

/** @returns the time from the first of these fields that has a value. One of the fields must have a value */
function firstTime(notice: Field, ...names: string[]): Date {
  const fields = names.map((name) => notice.at(name));
  return (fields.find(({ exists }) => exists) ?? notice.at(names[0] ?? '')).time(zone);
}

const timesOf = {
  paid: ['approved_date', 'updated_at', 'created_at'],
  refunded: ['refunded_at', 'updated_at'],
  chargeback: ['updated_at'],
} as const satisfies Record<PurchaseEvent['kind'], readonly string[]>;

function purchaseOf(notice: Field, kind: PurchaseEvent['kind']): SalesEvent {
  const commissions = notice.at('Commissions');
  const currency = commissions.at('currency');
  const id = subscriptionOf(notice);
  return {
    kind,
    at: firstTime(notice, ...timesOf[kind]),
    ...saleOf(notice),
    purchaseId: notice.at('order_id').id(),
    amount: smallestUnitsOf(commissions.at('charge_amount')),
    currency: currencyOf(currency.exists ? currency : commissions.at('product_base_price_currency')),
    paidAt: firstTime(notice, ...timesOf.paid),
    // The end of the paid period is read only from payments, because the documentation does not say whether refunds contain it.
    ...(id.exists && { subscription: { id: id.id(), ...(kind === 'paid' && periodEndOf(notice)) } }),
  };
}

function lateOf(notice: Field): SalesEvent {
  const { periodEnd } = periodEndOf(notice);
  return {
    kind: 'late',
    at: firstTime(notice, 'updated_at', 'created_at'),
    ...saleOf(notice),
    subscriptionId: subscriptionOf(notice).id(),
    key: periodEnd?.toISOString() ?? notice.at('order_id').id(),
    ...(periodEnd && { periodEnd }),
  };
}

function canceledOf(notice: Field): SalesEvent {
  return {
    kind: 'canceled',
    at: firstTime(notice, 'updated_at', 'created_at'),
    ...saleOf(notice),
    subscriptionId: subscriptionOf(notice).id(),
    ...periodEndOf(notice),
  };
}

function subscriptionOf(notice: Field): Field {
  const id = notice.at('subscription_id');
  return id.exists ? id : notice.at('Subscription', 'id');
}

function periodEndOf(notice: Field): { periodEnd?: Date } {
  const fields = [
    notice.at('Subscription', 'customer_access', 'access_until'),
    notice.at('Subscription', 'next_payment'),
  ];
  const field = fields.find(({ exists }) => exists);
  return field ? { periodEnd: field.time(zone) } : {};
}
