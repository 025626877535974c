/** The client of the payment processor for overage: invoice items of a customer, and the invoices that collect them. */
import Stripe from 'stripe';
import type { Id } from '../core/ids.ts';
import { createStripe, idOf, isKeyInUse, isMissing, type PaymentSettings } from './stripe-client.ts';

/** The terms on which a customer is charged now. */
export interface Account {
  /** The currency in which the customer pays, in lower case. Undefined if the customer has never paid. */
  currency: string | undefined;
  /** The time of the next invoice of the subscription. Undefined if no invoice will come: the subscription has ended, or never began. */
  nextInvoiceAt: Date | undefined;
}

export interface InvoiceItem {
  id: string;
  customerId: string;
  /** In the smallest unit of the currency. */
  amount: number;
  currency: string;
  /** Undefined until an invoice has taken the item. */
  invoiceId: string | undefined;
}

export interface NewInvoiceItem {
  chargeId: Id;
  clubId: Id;
  customerId: string;
  /** In the smallest unit of the currency. */
  amount: number;
  currency: string;
  /** The first day of the month. */
  month: string;
  resource: string;
  description: string;
}

/** `refused`: the processor has made no item, and an identical request would be refused again. */
export type Added = { result: 'added'; item: InvoiceItem } | { result: 'refused' };

/** Each function throws `Stripe.errors.StripeError` if the outcome is unknown. */
export interface Invoicing {
  /** @returns undefined if the customer was deleted */
  account: (customerId: string, subscriptionId: string | null) => Promise<Account | undefined>;
  /**
   * Reads all items of the customer since a time, and finds the item of a charge by its metadata.
   * @returns undefined if there is no item
   */
  findItem: (customerId: string, chargeId: Id, since: Date) => Promise<InvoiceItem | undefined>;
  /** @returns undefined if the item was removed */
  readItem: (itemId: string) => Promise<InvoiceItem | undefined>;
  /** An item is made only once for each key: a second call returns the first answer. */
  addItem: (item: NewInvoiceItem, key: string) => Promise<Added>;
  /**
   * Makes an invoice of all items that wait at the customer, which the processor then collects. If the processor refuses, for example because
   * no item waits, nothing happens.
   */
  invoice: (customer: Pick<NewInvoiceItem, 'customerId' | 'currency' | 'chargeId'>, key: string) => Promise<void>;
}

/** @returns undefined without a key */
export function createInvoicing(settings: PaymentSettings): Invoicing | undefined {
  const stripe = createStripe(settings);
  return stripe && invoicingOn(stripe);
}

/** A subscription with another status makes no further invoice. */
const liveStatuses: ReadonlySet<string> = new Set(['active', 'trialing', 'past_due']);

function invoicingOn(stripe: Stripe): Invoicing {
  return {
    async account(customerId, subscriptionId) {
      const customer = await unlessMissing(stripe.customers.retrieve(customerId));
      if (customer === undefined || customer.deleted) return undefined;
      const subscription =
        subscriptionId === null ? undefined : await unlessMissing(stripe.subscriptions.retrieve(subscriptionId));
      // A subscription that ends with its period makes no invoice at the end.
      const continues =
        subscription !== undefined &&
        liveStatuses.has(subscription.status) &&
        !subscription.cancel_at_period_end &&
        idOf(subscription.customer) === customerId;
      const ends = continues ? subscription.items.data.map((item) => item.current_period_end) : [];
      return {
        currency: customer.currency ?? (continues ? subscription.currency : undefined),
        nextInvoiceAt: ends.length === 0 ? undefined : new Date(Math.min(...ends) * 1_000),
      };
    },

    async findItem(customerId, chargeId, since) {
      const created = { gte: Math.floor(since.getTime() / 1_000) };
      try {
        for await (const item of stripe.invoiceItems.list({ customer: customerId, created, limit: 100 }))
          if (item.metadata?.['overage_charge_id'] === chargeId) return itemOf(item);
      } catch (error) {
        if (!isMissing(error)) throw error; // a deleted customer has no items
      }
      return undefined;
    },

    async readItem(itemId) {
      const item = await unlessMissing(stripe.invoiceItems.retrieve(itemId));
      return item === undefined || 'deleted' in item ? undefined : itemOf(item);
    },

    async addItem({ chargeId, clubId, customerId, amount, currency, description, month, resource }, key) {
      try {
        const metadata = { overage_charge_id: chargeId, club_id: clubId, month, resource };
        const item = { customer: customerId, amount, currency, description, metadata };
        return { result: 'added', item: itemOf(await stripe.invoiceItems.create(item, { idempotencyKey: key })) };
      } catch (error) {
        if (isRefusal(error)) return { result: 'refused' };
        throw error;
      }
    },

    async invoice({ customerId, currency, chargeId }, key) {
      try {
        await stripe.invoices.create(
          {
            customer: customerId,
            currency,
            auto_advance: true,
            pending_invoice_items_behavior: 'include',
            metadata: { overage_charge_id: chargeId },
          },
          { idempotencyKey: key },
        );
      } catch (error) {
        // If another invoice has taken the items meanwhile, the processor refuses, and the caller finds that invoice.
        if (!isRefusal(error)) throw error;
      }
    },
  };
}

/** A key that is in use, or was used with other data, is no refusal: the first request may have had its effect. */
function isRefusal(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeInvalidRequestError && !isKeyInUse(error);
}

function itemOf({ id, customer, amount, currency, invoice }: Stripe.InvoiceItem): InvoiceItem {
  return { id, customerId: idOf(customer) ?? '', amount, currency, invoiceId: idOf(invoice) };
}

async function unlessMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
