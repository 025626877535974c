/** The client of the payment processor, for add-ons: one charge for each add-on. */
import Stripe from 'stripe';
import type { Id } from '../core/ids.ts';
import { createStripe, idOf, type PaymentSettings } from './stripe-client.ts';

/** `unknown`: the charge may exist, or may still be made. */
export type ChargeOutcome =
  | { result: 'paid'; paymentId: string }
  | { result: 'declined' }
  | { result: 'unknown'; code: string };

/** Stored with the payment, so that a lost purchase can be restored. */
export interface Bought {
  kind: string;
  quantity: number;
}

export interface MadeCharge extends Bought {
  addOnId: Id;
  clubId: Id;
  customerId: string;
  /** In the smallest unit of the currency. */
  amount: number;
  currency: string;
  /** The time is from the clock of the payment processor. */
  madeAt: Date;
}

export interface Charge extends Bought {
  addOnId: Id;
  clubId: Id;
  customerId: string;
  paymentMethodId: string;
  /** In the smallest unit of the currency. */
  amount: number;
  currency: string;
}

export interface PaymentProcessor {
  /**
   * @returns the payment method of the subscription, or else of the customer; undefined if there is none
   * @throws Stripe.errors.StripeError
   */
  paymentMethodOf: (customerId: string, subscriptionId: string | null) => Promise<string | undefined>;
  /** An add-on is charged only once: a second call returns the first answer. */
  charge: (charge: Charge) => Promise<ChargeOutcome>;
  /**
   * Reads all payments of the customer, a few hundred at most. It does not filter by time, because clocks may differ.
   * @returns undefined if there is no charge
   * @throws Stripe.errors.StripeError
   */
  findCharge: (customerId: string, addOnId: Id) => Promise<ChargeOutcome | undefined>;
  /**
   * Returns paid payments for add-ons, newest first.
   * @throws Stripe.errors.StripeError
   */
  paidSince: (since: Date) => AsyncIterable<MadeCharge>;
}

/** @returns undefined without a key */
export function createPaymentProcessor(settings: PaymentSettings): PaymentProcessor | undefined {
  const stripe = createStripe(settings);
  return stripe && processorOn(stripe);
}

function processorOn(stripe: Stripe): PaymentProcessor {
  return {
    async paymentMethodOf(customerId, subscriptionId) {
      // A checkout stores the payment method in the subscription.
      const subscription = subscriptionId === null ? undefined : await stripe.subscriptions.retrieve(subscriptionId);
      const own = idOf(subscription?.default_payment_method);
      if (own !== undefined) return own;
      const customer = await stripe.customers.retrieve(customerId);
      return customer.deleted ? undefined : idOf(customer.invoice_settings.default_payment_method);
    },

    async charge({ addOnId, clubId, customerId, paymentMethodId, amount, currency, kind, quantity }) {
      try {
        const payment = await stripe.paymentIntents.create(
          {
            amount,
            currency,
            customer: customerId,
            payment_method: paymentMethodId,
            off_session: true,
            confirm: true,
            metadata: { add_on_id: addOnId, club_id: clubId, kind, quantity: String(quantity) },
          },
          { idempotencyKey: addOnId },
        );
        return outcomeOf(payment);
      } catch (error) {
        return outcomeOfError(error);
      }
    },

    async findCharge(customerId, addOnId) {
      for await (const payment of stripe.paymentIntents.list({ customer: customerId, limit: 100 }))
        if (payment.metadata['add_on_id'] === addOnId) return outcomeOf(payment);
      return undefined;
    },

    async *paidSince(since) {
      const created = { gte: Math.floor(since.getTime() / 1_000) };
      for await (const payment of stripe.paymentIntents.list({ created, limit: 100 })) {
        const customerId = idOf(payment.customer);
        const { add_on_id: addOnId, club_id: clubId, kind, quantity } = payment.metadata;
        if (payment.status !== 'succeeded' || !customerId || !addOnId || !clubId || !kind) continue;
        yield {
          addOnId,
          clubId,
          customerId,
          kind,
          quantity: Number(quantity),
          amount: payment.amount,
          currency: payment.currency,
          madeAt: new Date(payment.created * 1_000),
        };
      }
    },
  };
}

/** In any other state, the payment is in progress. */
const ended: Readonly<Record<string, 'paid' | 'declined'>> = {
  succeeded: 'paid',
  requires_payment_method: 'declined',
  requires_action: 'declined', // The customer would have to confirm the payment, but is not present.
  canceled: 'declined',
};

function outcomeOf({ id, status }: Stripe.PaymentIntent): ChargeOutcome {
  const result = ended[status];
  if (result === 'paid') return { result, paymentId: id };
  return result === undefined ? { result: 'unknown', code: 'processing' } : { result };
}

/** After a declined card or an invalid request, no charge exists. After any other error, it may exist. */
function outcomeOfError(error: unknown): ChargeOutcome {
  if (!(error instanceof Stripe.errors.StripeError)) throw error;
  if (error.type === 'StripeCardError' || error.type === 'StripeInvalidRequestError') return { result: 'declined' };
  return { result: 'unknown', code: error.type };
}
