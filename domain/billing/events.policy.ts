/** Reads the events of the payment processor, and derives a club's plan from all events in any order of arrival. */
import type { PlanName, PlanStatus } from '../../entities/billing/values.ts';
import { planAfterCancellation, plans } from './plans.policy.ts';

export interface PlanEvent {
  /** The processor's id of the event. */
  id: string;
  type: string;
  /** The time of the event by the processor's clock, in whole seconds. */
  created: Date;
  customerId: string | null;
  subscriptionId: string | null;
  plan: PlanName | null;
  status: PlanStatus | null;
  currentPeriodEnd: Date | null;
  /** The currency of the subscription, in lower case. */
  currency: string | null;
}

export interface ReadEvent extends PlanEvent {
  /** The invoice that was paid, or whose payment failed. */
  invoiceId: string | null;
  /** The club in the event's metadata, which only the holder of the processor's secret key can set. */
  namedClub: string | null;
  /** True if the event is about a price that belongs to no plan of this service. */
  priceUnknown: boolean;
}

/** Finds the plan of a price, by the price's lookup key or by the configuration. */
export type PlanOfPrice = (price: { id: string | null; lookupKey: string | null }) => PlanName | undefined;

/** @param pricePlans pairs `<id of a price>=<plan>`. A price needs no pair if its lookup key is the name of a plan */
export function planOfPriceBy(pricePlans: readonly string[]): PlanOfPrice {
  const planNamed = (name: string | null | undefined) =>
    Object.keys(plans).find((plan): plan is PlanName => plan === name);
  const byId = new Map(pricePlans.map((item) => item.split('=') as [string, string]));
  return ({ id, lookupKey }) => planNamed(byId.get(id ?? '')) ?? planNamed(lookupKey);
}

/**
 * @param pricePlans pairs `<id of a price>=<plan>`
 * @returns a function that returns the first price of a plan, or undefined if no pair names the plan
 */
export function priceOfPlanBy(pricePlans: readonly string[]): (plan: PlanName) => string | undefined {
  const pairs = pricePlans.map((item) => item.split('='));
  return (plan) => pairs.find(([, named]) => named === plan)?.[0];
}

type Says = Partial<Omit<ReadEvent, 'id' | 'type' | 'created'>>;

/**
 * The types of events that matter, each with the function that reads it. Events of the same second are sorted in the order of this list:
 * the creation of a subscription before its changes, and a failed charge before a successful charge.
 */
const readers: Record<string, (object: unknown, planOfPrice: PlanOfPrice) => Says> = {
  'checkout.session.completed': (session) => ({
    customerId: idAt(session, 'customer'),
    subscriptionId: idAt(session, 'subscription'),
    // `client_reference_id` is not trusted, because anyone who opens a payment link can set it in the URL.
    namedClub: textAt(session, 'metadata', 'club_id'),
  }),
  'customer.subscription.created': readSubscription,
  'invoice.payment_failed': (invoice) => ({ ...readInvoice(invoice), status: 'past_due' }),
  'invoice.paid': (invoice) => ({ ...readInvoice(invoice), status: 'active' }),
  'customer.subscription.updated': readSubscription,
  'customer.subscription.deleted': (subscription, planOfPrice) => ({
    ...readSubscription(subscription, planOfPrice),
    status: 'canceled',
    priceUnknown: false, // the subscription has ended, so the plan does not need its price
  }),
};
const rank = new Map(Object.keys(readers).map((type, index) => [type, index]));

/**
 * Maps the processor's status of a subscription to the status of the plan. A subscription with any other status, such as `incomplete`, has
 * not begun and has no effect yet.
 */
const statuses: Readonly<Record<string, PlanStatus>> = {
  active: 'active',
  trialing: 'active',
  past_due: 'past_due',
  unpaid: 'past_due',
  paused: 'past_due',
  canceled: 'canceled',
};

function readSubscription(subscription: unknown, planOfPrice: PlanOfPrice): Says {
  const status = statuses[textAt(subscription, 'status') ?? ''] ?? null;
  const data = at(subscription, 'items', 'data');
  const items: unknown[] = Array.isArray(data) ? data : [];
  const planOf = (one: unknown) =>
    planOfPrice({ id: textAt(one, 'price', 'id'), lookupKey: textAt(one, 'price', 'lookup_key') });
  // A subscription may also have items for other things, such as overage. Their prices belong to no plan.
  const item = items.find((one) => planOf(one) !== undefined) ?? items[0];
  const plan = planOf(item);
  return {
    customerId: idAt(subscription, 'customer'),
    subscriptionId: textAt(subscription, 'id'),
    namedClub: textAt(subscription, 'metadata', 'club_id'),
    ...(status !== null && { plan: plan ?? null, status }),
    // The item has this field since version 2025-03-31 of the processor's API. Before, the subscription had it.
    currentPeriodEnd: timeAt(item, 'current_period_end') ?? timeAt(subscription, 'current_period_end'),
    currency: currencyAt(subscription, 'currency'),
    priceUnknown: status !== null && status !== 'canceled' && plan === undefined,
  };
}

function readInvoice(invoice: unknown): Says {
  const about = at(invoice, 'parent', 'subscription_details');
  return {
    customerId: idAt(invoice, 'customer'),
    // `parent` has this field since version 2025-03-31 of the processor's API. Before, the invoice had it.
    subscriptionId: idAt(about, 'subscription') ?? idAt(invoice, 'subscription'),
    invoiceId: textAt(invoice, 'id'),
    namedClub: textAt(about, 'metadata', 'club_id'),
  };
}

const saysNothing = {
  customerId: null,
  subscriptionId: null,
  plan: null,
  status: null,
  currentPeriodEnd: null,
  currency: null,
  invoiceId: null,
  namedClub: null,
  priceUnknown: false,
} as const satisfies Says;

/**
 * @param event the event as the processor sent it
 * @returns the values of the event that decide a plan, or undefined if the input is not an event of the processor
 */
export function readEvent(event: unknown, planOfPrice: PlanOfPrice): ReadEvent | undefined {
  const [id, type, created] = [textAt(event, 'id'), textAt(event, 'type'), timeAt(event, 'created')];
  if (id === null || type === null || created === null) return undefined;
  const reader = Object.hasOwn(readers, type) ? readers[type] : undefined;
  return { id, type, created, ...saysNothing, ...reader?.(at(event, 'data', 'object'), planOfPrice) };
}

export interface PlanState {
  plan: PlanName;
  status: PlanStatus;
  customerId: string | null;
  subscriptionId: string | null;
  currentPeriodEnd: Date | null;
  currency: string | null;
  changedAt: Date | null;
}

/**
 * Derives a club's plan from the events of its subscriptions, by the events' own times and not by the order of arrival. The newest
 * subscription that has not ended decides the plan. If all have ended, the newest decides.
 * @param openingPlan the plan of a club without a subscription
 */
export function planStateOf(events: readonly PlanEvent[], openingPlan: PlanName): PlanState {
  const ordered = events.toSorted(inTheirOrder);
  const subscriptions = Map.groupBy(ordered, ({ subscriptionId }) => subscriptionId);
  const states = [...subscriptions]
    .filter(([id]) => id !== null)
    .map(([, own]) => stateOfSubscription(own))
    .filter((state) => state !== undefined);
  const counts = states.findLast(({ status }) => status !== 'canceled') ?? states.at(-1);
  const newest = ordered.findLast(({ customerId }) => customerId !== null);
  return (
    counts ?? {
      plan: openingPlan,
      status: 'active',
      customerId: newest?.customerId ?? null,
      subscriptionId: null,
      currentPeriodEnd: null,
      currency: null,
      changedAt: null,
    }
  );
}

/** @param events the events of one subscription, in their order */
function stateOfSubscription(events: readonly PlanEvent[]): PlanState | undefined {
  const last = <Field extends keyof PlanEvent>(field: Field) =>
    events.findLast((event) => event[field] !== null)?.[field] ?? null;
  const plan = last('plan');
  if (plan === null) return undefined;
  // A canceled subscription never becomes active again. A successful charge that arrives after the cancellation pays for the time before
  // it.
  const canceled = events.some(({ status }) => status === 'canceled');
  return {
    plan: canceled ? planAfterCancellation : plan,
    status: canceled ? 'canceled' : (last('status') ?? 'active'),
    customerId: last('customerId'),
    subscriptionId: last('subscriptionId'),
    currentPeriodEnd: last('currentPeriodEnd'),
    currency: last('currency'),
    changedAt: last('created'),
  };
}

function inTheirOrder(a: PlanEvent, b: PlanEvent): number {
  const rankOf = ({ type }: PlanEvent) => rank.get(type) ?? -1;
  return a.created.getTime() - b.created.getTime() || rankOf(a) - rankOf(b) || (a.id < b.id ? -1 : 1);
}

function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key)
        ? (inner as Record<string, unknown>)[key]
        : undefined,
    value,
  );
}

/** @returns the value if it is a text of 1 to 255 characters, like the processor's ids and keys */
function textAt(value: unknown, ...path: readonly string[]): string | null {
  const text = at(value, ...path);
  return typeof text === 'string' && text.length > 0 && text.length <= 255 ? text : null;
}

/** Reads an id. Instead of an id, the processor may send the whole record with this id. */
function idAt(value: unknown, key: string): string | null {
  return textAt(value, key) ?? textAt(value, key, 'id');
}

/** @returns a code of three small letters, as the processor writes currencies */
function currencyAt(value: unknown, key: string): string | null {
  const text = textAt(value, key);
  return text !== null && /^[a-z]{3}$/.test(text) ? text : null;
}

/** Reads a time in Unix seconds. */
function timeAt(value: unknown, key: string): Date | null {
  const seconds = at(value, key);
  return typeof seconds === 'number' && Number.isInteger(seconds) && seconds > 0 && seconds < 1e11
    ? new Date(seconds * 1_000)
    : null;
}
