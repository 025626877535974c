/**
 * The records of the fake payment processor beside payments: customers, subscriptions, invoice items, invoices, checkouts and visits of the
 * portal. It answers as Stripe documents it. It counts charges by itself, so that a proof need not trust our tables.
 */
import { failure, type StripeReply } from './stripe-replies.ts';

interface TestItem {
  id: string;
  customer: string;
  amount: number;
  currency: string;
  description: string;
  /** Unix seconds. */
  date: number;
  created: number;
  invoice: string | null;
  metadata: Record<string, string>;
}

interface TestInvoice {
  id: string;
  customer: string;
  currency: string;
  total: number;
  auto_advance: boolean;
  subscription: string | null;
  metadata: Record<string, string>;
}

interface TestCustomer {
  id: string;
  currency: string | null;
  deleted: boolean;
  metadata: Record<string, string>;
}

interface TestSubscription {
  id: string;
  customer: string;
  status: string;
  currency: string;
  /** Unix seconds. */
  periodEnd: number;
  endsWithPeriod: boolean;
}

interface TestCheckout {
  id: string;
  url: string;
  customer: string;
  status: 'open' | 'expired' | 'complete';
  price: string;
  successUrl: string;
  cancelUrl: string;
  created: number;
  expires_at: number;
  metadata: Record<string, string>;
}

export interface StripeLedger {
  items: TestItem[];
  invoices: TestInvoice[];
  customers: Map<string, TestCustomer>;
  subscriptions: Map<string, TestSubscription>;
  checkouts: TestCheckout[];
  portals: { customer: string; returnUrl: string; url: string }[];
  /** The ids of prices by their lookup key. */
  prices: Map<string, string>;
  /** Whether the search finds new customers. The index of the real processor lags by a minute. */
  isSearchUpToDate: boolean;
  /** Whether the portal was configured at the processor. */
  hasPortal: boolean;
  /** The items of a charge of ours. There must be exactly one. */
  itemsOf(chargeId: string): TestItem[];
  /** Makes the next invoice of a subscription, which takes all waiting items of the customer. */
  runSubscription(id: string): TestInvoice;
}

type Handler = (values: URLSearchParams, id: string) => StripeReply;

const seconds = () => Math.floor(Date.now() / 1_000);
const ok = (body: object): StripeReply => ({ status: 200, body });
const missing = (): StripeReply => failure(404, 'invalid_request_error', { code: 'resource_missing' });
const invalid = (more: object = {}): StripeReply => failure(400, 'invalid_request_error', more);

/** @returns the ledger, and the functions that answer its calls: `POST` for changes, `GET` for reads */
export function createLedger(): { ledger: StripeLedger; post: Handlers; get: Handlers } {
  const ledger: StripeLedger = {
    items: [],
    invoices: [],
    customers: new Map(),
    subscriptions: new Map(),
    checkouts: [],
    portals: [],
    prices: new Map(),
    isSearchUpToDate: true,
    hasPortal: true,
    itemsOf: (chargeId) => ledger.items.filter(({ metadata }) => metadata['overage_charge_id'] === chargeId),
    runSubscription(id) {
      const subscription = ledger.subscriptions.get(id);
      if (!subscription) throw new Error(`There is no subscription ${id}`);
      const { customer, currency } = subscription;
      return makeInvoice({ customer, currency, subscription: id, metadata: {} });
    },
  };

  /** Customers that no test registered exist, too. */
  const customerOf = (id: string): TestCustomer =>
    ledger.customers.get(id) ?? { id, currency: null, deleted: false, metadata: {} };
  const keepCurrency = (id: string, currency: string) =>
    ledger.customers.set(id, { ...customerOf(id), currency: customerOf(id).currency ?? currency });

  function makeInvoice(of: Omit<TestInvoice, 'id' | 'total' | 'auto_advance'>): TestInvoice {
    const waiting = ledger.items.filter(
      ({ customer, currency, invoice }) => invoice === null && customer === of.customer && currency === of.currency,
    );
    const id = `in_${crypto.randomUUID()}`;
    for (const item of waiting) item.invoice = id;
    const total = waiting.reduce((sum, { amount }) => sum + amount, 0);
    const invoice = { ...of, id, total, auto_advance: true };
    ledger.invoices.push(invoice);
    return invoice;
  }

  const post: Handlers = {
    '/v1/invoiceitems'(form) {
      const [customer, amount, currency] = [form.get('customer'), Number(form.get('amount')), form.get('currency')];
      if (customer === null || currency === null || !Number.isInteger(amount) || amount > 99_999_999) return invalid();
      const { deleted, currency: own } = customerOf(customer);
      if (deleted) return missing();
      if (own !== null && own !== currency) return invalid({ message: 'You cannot combine currencies.' });
      keepCurrency(customer, currency);
      const item: TestItem = {
        id: `ii_${crypto.randomUUID()}`,
        customer,
        amount,
        currency,
        description: form.get('description') ?? '',
        date: seconds(),
        created: seconds(),
        invoice: null,
        metadata: metadataOf(form),
      };
      ledger.items.push(item);
      return ok({ object: 'invoiceitem', ...item });
    },
    '/v1/invoices'(form) {
      const [customer, currency] = [form.get('customer') ?? '', form.get('currency') ?? ''];
      if (customerOf(customer).deleted) return missing();
      const isWaiting = ledger.items.some((item) => item.invoice === null && item.customer === customer);
      if (!isWaiting || form.get('pending_invoice_items_behavior') !== 'include')
        return invalid({ code: 'invoice_no_customer_line_items' });
      return ok({
        object: 'invoice',
        ...makeInvoice({ customer, currency, subscription: null, metadata: metadataOf(form) }),
      });
    },
    '/v1/customers'(form) {
      const customer = { id: `cus_${crypto.randomUUID()}`, currency: null, deleted: false, metadata: metadataOf(form) };
      ledger.customers.set(customer.id, customer);
      return ok({ object: 'customer', ...customer });
    },
    '/v1/checkout/sessions'(form) {
      const price = form.get('line_items[0][price]');
      if (price === null || form.get('mode') !== 'subscription') return invalid();
      const id = `cs_${crypto.randomUUID()}`;
      const session: TestCheckout = {
        id,
        url: `https://checkout.example/${id}`,
        customer: form.get('customer') ?? '',
        status: 'open',
        price,
        successUrl: form.get('success_url') ?? '',
        cancelUrl: form.get('cancel_url') ?? '',
        created: seconds(),
        expires_at: Number(form.get('expires_at') ?? seconds() + 86_400),
        metadata: metadataOf(form),
      };
      ledger.checkouts.push(session);
      return ok({ object: 'checkout.session', ...session });
    },
    '/v1/checkout/sessions/*/expire'(_form, id) {
      const session = ledger.checkouts.find((one) => one.id === id);
      if (session?.status !== 'open') return invalid();
      session.status = 'expired';
      return ok({ object: 'checkout.session', ...session });
    },
    '/v1/billing_portal/sessions'(form) {
      if (!ledger.hasPortal) return invalid({ message: 'No configuration provided.' });
      const customer = form.get('customer') ?? '';
      if (customerOf(customer).deleted) return missing();
      const portal = {
        customer,
        returnUrl: form.get('return_url') ?? '',
        url: `https://portal.example/${crypto.randomUUID()}`,
      };
      ledger.portals.push(portal);
      return ok({ object: 'billing_portal.session', id: 'bps_1', ...portal });
    },
  };

  const get: Handlers = {
    '/v1/invoiceitems'(query) {
      const [of, since] = [query.get('customer') ?? '', Number(query.get('created[gte]') ?? 0)];
      if (customerOf(of).deleted) return missing();
      return listed(
        ledger.items.filter(({ customer, created }) => customer === of && created >= since).toReversed(),
        query,
      );
    },
    '/v1/invoiceitems/*'(_query, id) {
      const item = ledger.items.find((one) => one.id === id);
      return item ? ok({ object: 'invoiceitem', ...item }) : missing();
    },
    '/v1/customers/search'(query) {
      const [, clubId] = /metadata\['club_id'\]:'([^']+)'/.exec(query.get('query') ?? '') ?? [];
      const data = ledger.isSearchUpToDate
        ? [...ledger.customers.values()].filter(({ deleted, metadata }) => !deleted && metadata['club_id'] === clubId)
        : [];
      return ok({ object: 'search_result', url: '/v1/customers/search', has_more: false, data });
    },
    '/v1/subscriptions'(query) {
      const of = query.get('customer');
      const data = [...ledger.subscriptions.values()].filter(({ customer }) => customer === of).map(subscriptionBody);
      return listed(data, query);
    },
    '/v1/checkout/sessions'(query) {
      const [of, status] = [query.get('customer'), query.get('status')];
      const found = ledger.checkouts.filter((one) => one.customer === of && (status === null || one.status === status));
      return listed(found.toReversed(), query);
    },
    '/v1/prices'(query) {
      const price = ledger.prices.get(query.get('lookup_keys[0]') ?? '');
      return listed(price === undefined ? [] : [{ id: price }], query);
    },
  };
  return { ledger, post, get };
}

export type Handlers = Readonly<Record<string, Handler>>;

/** @returns the record as `GET /v1/customers/{id}` shows it */
export function customerBody({ customers }: StripeLedger, id: string, method: string | null): object {
  const known = customers.get(id);
  if (known?.deleted) return { id, object: 'customer', deleted: true };
  const currency = known?.currency ?? null;
  return { id, object: 'customer', currency, invoice_settings: { default_payment_method: method } };
}

/** @returns the record as `GET /v1/subscriptions/{id}` shows it. A subscription that no test registered has no customer */
export function subscriptionById({ subscriptions }: StripeLedger, id: string, method: string | null): object {
  const known = subscriptions.get(id);
  return known
    ? { ...subscriptionBody(known), default_payment_method: method }
    : { id, object: 'subscription', default_payment_method: method, status: 'active', items: { data: [] } };
}

function subscriptionBody({ id, customer, status, currency, periodEnd, endsWithPeriod }: TestSubscription) {
  const items = { data: [{ id: `si_${id}`, current_period_end: periodEnd }] };
  return { id, object: 'subscription', customer, status, currency, cancel_at_period_end: endsWithPeriod, items };
}

/** A page of a list, newest first, after the record that `starting_after` names. */
function listed(records: readonly { id: string }[], query: URLSearchParams): StripeReply {
  const after = query.get('starting_after');
  const start = after === null ? 0 : records.findIndex(({ id }) => id === after) + 1;
  const data = records.slice(start, start + Math.min(100, Number(query.get('limit') ?? 10)));
  return ok({ object: 'list', url: '/', has_more: start + data.length < records.length, data });
}

export function metadataOf(form: URLSearchParams): Record<string, string> {
  return Object.fromEntries(
    [...form].flatMap(([name, value]) => {
      const [, key] = /^metadata\[(\w+)\]$/.exec(name) ?? [];
      return key === undefined ? [] : [[key, value]];
    }),
  );
}
