/** The client of the payment processor for its own pages: the checkout of a plan, and the portal for cards, invoices and cancellations. */
import { setTimeout as sleep } from 'node:timers/promises';
import Stripe from 'stripe';
import type { Id } from '../core/ids.ts';
import { createStripe, isKeyInUse, isMissing, type PaymentSettings } from './stripe-client.ts';

export interface NewCheckout {
  clubId: Id;
  customerId: string;
  priceId: string;
  successUrl: string;
  cancelUrl: string;
  /** In whole seconds, at least half an hour from now. */
  expiresAt: Date;
}

/** A page of the processor. The address alone opens the page until it expires, so it is a secret. */
export interface Page {
  url: string;
}

/** Why the processor gave no answer that helps: it cannot be reached, or it refuses what the operator has configured. */
export class ProcessorProblem extends Error {
  override name = 'ProcessorProblem';
  readonly isRefusal: boolean;

  constructor(isRefusal: boolean) {
    super(isRefusal ? 'The payment processor refused the request' : 'The payment processor cannot be reached');
    this.isRefusal = isRefusal;
  }
}

/** Each function throws {@link ProcessorProblem}. */
export interface Checkouts {
  /** @returns undefined if the processor has no price with this lookup key */
  priceWithKey: (lookupKey: string) => Promise<string | undefined>;
  /**
   * Finds the customer of a club by its metadata, or makes one. Simultaneous calls with one key get the same customer.
   * @returns the customer's id
   */
  findOrMakeCustomer: (clubId: Id, key: string) => Promise<string>;
  /** `subscribed`: the customer has a subscription that has not ended. */
  customerState: (customerId: string) => Promise<'free' | 'subscribed' | 'deleted'>;
  /**
   * Opens a checkout, and expires all other open checkouts of the customer except the newest.
   * @returns undefined if a newer checkout of the customer has replaced this one
   */
  openCheckout: (checkout: NewCheckout) => Promise<(Page & { expiresAt: Date }) | undefined>;
  /** @returns undefined if the customer was deleted */
  openPortal: (customerId: string, returnUrl: string) => Promise<Page | undefined>;
}

/** @returns undefined without a key */
export function createCheckouts(settings: PaymentSettings): Checkouts | undefined {
  const stripe = createStripe(settings);
  return stripe && withProblems(checkoutsOn(stripe));
}

/** A simultaneous request makes the customer. Its answer is the answer to this request, too. */
const triesWhileKeyInUse = 5;
const pauseMs = 400;

/** A subscription with one of these statuses has ended, and a new one may begin. */
const endedStatuses: ReadonlySet<string> = new Set(['canceled', 'incomplete', 'incomplete_expired']);

function checkoutsOn(stripe: Stripe): Checkouts {
  return {
    async priceWithKey(lookupKey) {
      const { data } = await stripe.prices.list({ lookup_keys: [lookupKey], active: true, limit: 1 });
      return data[0]?.id;
    },

    async findOrMakeCustomer(clubId, key) {
      // The index of the search lags by a minute or more. Within this time the idempotency key finds the customer.
      const { data } = await stripe.customers.search({ query: `metadata['club_id']:'${clubId}'`, limit: 1 });
      const [found] = data;
      if (found) return found.id;
      for (let tries = 1; ; tries++)
        try {
          const customer = await stripe.customers.create({ metadata: { club_id: clubId } }, { idempotencyKey: key });
          return customer.id;
        } catch (error) {
          if (tries === triesWhileKeyInUse || !isKeyInUse(error)) throw error;
          await sleep(pauseMs);
        }
    },

    async customerState(customerId) {
      try {
        const customer = await stripe.customers.retrieve(customerId);
        if (customer.deleted) return 'deleted';
      } catch (error) {
        if (isMissing(error)) return 'deleted';
        throw error;
      }
      for await (const { status } of stripe.subscriptions.list({ customer: customerId, status: 'all', limit: 100 }))
        if (!endedStatuses.has(status)) return 'subscribed';
      return 'free';
    },

    async openCheckout({ clubId, customerId, priceId, successUrl, cancelUrl, expiresAt }) {
      // The processor's own time has whole seconds, and two checkouts may begin within one second.
      const metadata = { club_id: clubId, opened_at: String(Date.now()) };
      const session = await stripe.checkout.sessions.create({
        mode: 'subscription',
        customer: customerId,
        line_items: [{ price: priceId, quantity: 1 }],
        success_url: successUrl,
        cancel_url: cancelUrl,
        expires_at: Math.floor(expiresAt.getTime() / 1_000),
        metadata,
        subscription_data: { metadata: { club_id: clubId } },
      });
      const open = await stripe.checkout.sessions
        .list({ customer: customerId, status: 'open', limit: 100 })
        .autoPagingToArray({ limit: 100 });
      // Each call looks after it has created its session. So the last call sees all sessions, and all calls agree on the newest.
      const openedAt = (one: Stripe.Checkout.Session) => Number(one.metadata?.['opened_at'] ?? one.created * 1_000);
      const [newest = session, ...older] = open.toSorted((a, b) => openedAt(b) - openedAt(a) || (a.id < b.id ? 1 : -1));
      for (const { id } of older) await expire(stripe, id);
      return newest.id === session.id && session.url !== null
        ? { url: session.url, expiresAt: new Date(session.expires_at * 1_000) }
        : undefined;
    },

    async openPortal(customerId, returnUrl) {
      try {
        const { url } = await stripe.billingPortal.sessions.create({ customer: customerId, return_url: returnUrl });
        return { url };
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },
  };
}

/** A simultaneous call may have expired the session, or the owner may have completed it. */
async function expire(stripe: Stripe, id: string): Promise<void> {
  await stripe.checkout.sessions.expire(id).catch((error: unknown) => {
    if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) throw error;
  });
}

function withProblems(checkouts: Checkouts): Checkouts {
  const translated =
    <Parts extends unknown[], Result>(call: (...parts: Parts) => Promise<Result>) =>
    async (...parts: Parts): Promise<Result> => {
      try {
        return await call(...parts);
      } catch (error) {
        if (!(error instanceof Stripe.errors.StripeError)) throw error;
        const isRefusal =
          error instanceof Stripe.errors.StripeAuthenticationError ||
          error instanceof Stripe.errors.StripePermissionError ||
          (error instanceof Stripe.errors.StripeInvalidRequestError && !isKeyInUse(error));
        throw new ProcessorProblem(isRefusal);
      }
    };
  return {
    priceWithKey: translated(checkouts.priceWithKey),
    findOrMakeCustomer: translated(checkouts.findOrMakeCustomer),
    customerState: translated(checkouts.customerState),
    openCheckout: translated(checkouts.openCheckout),
    openPortal: translated(checkouts.openPortal),
  };
}
