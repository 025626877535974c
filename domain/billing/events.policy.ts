/** What the events of the payment processor say of a plan, and what all of them together make of it: in whatever order they came. */
import type { PlanName, PlanStatus } from '../../entities/billing/values.ts';
import { planAfterCancellation, plans } from './plans.policy.ts';

/** What counts of an event. */
export interface PlanEvent {
  /** The processor's. */
  id: string;
  type: string;
  /** By the processor's clock, in whole seconds. */
  created: Date;
  customerId: string | null;
  subscriptionId: string | null;
  /** What it says; null where it says nothing of it. */
  plan: PlanName | null;
  status: PlanStatus | null;
  currentPeriodEnd: Date | null;
}

export interface ReadEvent extends PlanEvent {
  /** The club in the event's metadata, which only the holder of the processor's secret key can set. */
  namedClub: string | null;
  /** It is about a price that stands for none of our plans. */
  priceUnknown: boolean;
}

/** @returns the plan of a price, by its lookup key or the configured map */
export type PlanOfPrice = (price: { id: string | null; lookupKey: string | null }) => PlanName | undefined;

/** @param pricePlans `<id of a price>=<plan>` each; a lookup key that is a plan's name needs none */
export function planOfPriceBy(pricePlans: readonly string[]): PlanOfPrice {
  const planNamed = (name: string | null | undefined) =>
    Object.keys(plans).find((plan): plan is PlanName => plan === name);
  const byId = new Map(pricePlans.map((item) => item.split('=') as [string, string]));
  return ({ id, lookupKey }) => planNamed(byId.get(id ?? '')) ?? planNamed(lookupKey);
}

type Says = Partial<Omit<ReadEvent, 'id' | 'type' | 'created'>>;

/**
 * The types that say something, each with its reader. Events of one second count in this order: what makes a subscription
 * comes before what it becomes, and a charge that failed before the one that succeeded.
 */
const readers: Record<string, (object: unknown, planOfPrice: PlanOfPrice) => Says> = {
  'checkout.session.completed': (session) => ({
    customerId: idAt(session, 'customer'),
    subscriptionId: idAt(session, 'subscription'),
    // Never `client_reference_id`: the person who follows a payment link can choose it in the link's address.
    namedClub: textAt(session, 'metadata', 'club_id'),
  }),
  'customer.subscription.created': readSubscription,
  'invoice.payment_failed': (invoice) => ({ ...readInvoice(invoice), status: 'past_due' }),
  'invoice.paid': (invoice) => ({ ...readInvoice(invoice), status: 'active' }),
  'customer.subscription.updated': readSubscription,
  'customer.subscription.deleted': (subscription, planOfPrice) => ({
    ...readSubscription(subscription, planOfPrice),
    status: 'canceled',
    priceUnknown: false, // it ends whatever it was for
  }),
};
const rank = new Map(Object.keys(readers).map((type, place) => [type, place]));

/** A subscription's state by the processor's word. What is not listed has not begun (`incomplete`) and says nothing yet. */
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
  const listed = at(subscription, 'items', 'data');
  const items: unknown[] = Array.isArray(listed) ? listed : [];
  const planOf = (one: unknown) =>
    planOfPrice({ id: textAt(one, 'price', 'id'), lookupKey: textAt(one, 'price', 'lookup_key') });
  // Beside the plan, a subscription can have items of other prices, such as those of overage.
  const item = items.find((one) => planOf(one) !== undefined) ?? items[0];
  const plan = planOf(item);
  return {
    customerId: idAt(subscription, 'customer'),
    subscriptionId: textAt(subscription, 'id'),
    namedClub: textAt(subscription, 'metadata', 'club_id'),
    ...(status !== null && { plan: plan ?? null, status }),
    // In the item since version 2025-03-31 of the processor's API, in the subscription before.
    currentPeriodEnd: timeAt(item, 'current_period_end') ?? timeAt(subscription, 'current_period_end'),
    priceUnknown: status !== null && status !== 'canceled' && plan === undefined,
  };
}

function readInvoice(invoice: unknown): Says {
  const about = at(invoice, 'parent', 'subscription_details');
  return {
    customerId: idAt(invoice, 'customer'),
    // In `parent` since version 2025-03-31 of the processor's API, in the invoice before.
    subscriptionId: idAt(about, 'subscription') ?? idAt(invoice, 'subscription'),
    namedClub: textAt(about, 'metadata', 'club_id'),
  };
}

const saysNothing = {
  customerId: null,
  subscriptionId: null,
  plan: null,
  status: null,
  currentPeriodEnd: null,
  namedClub: null,
  priceUnknown: false,
} as const satisfies Says;

/** @param event as the processor sent it @returns what it says of a plan; undefined for what is no event */
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
  changedAt: Date | null;
}

/**
 * What a club's events make of its plan. It depends on which events there are, and on their own times, never on the order in
 * which they came. The newest subscription that lives counts, or the newest of those that have ended.
 * @param openingPlan what the club has without any subscription
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
      changedAt: null,
    }
  );
}

/** @param events of one subscription, in their order @returns undefined where none says which plan it is */
function stateOfSubscription(events: readonly PlanEvent[]): PlanState | undefined {
  const last = <Field extends keyof PlanEvent>(field: Field) =>
    events.findLast((event) => event[field] !== null)?.[field] ?? null;
  const plan = last('plan');
  if (plan === null) return undefined;
  // Nothing brings a canceled subscription back: a charge that succeeds afterwards was for the time before.
  const canceled = events.some(({ status }) => status === 'canceled');
  return {
    plan: canceled ? planAfterCancellation : plan,
    status: canceled ? 'canceled' : (last('status') ?? 'active'),
    customerId: last('customerId'),
    subscriptionId: last('subscriptionId'),
    currentPeriodEnd: last('currentPeriodEnd'),
    changedAt: last('created'),
  };
}

function inTheirOrder(a: PlanEvent, b: PlanEvent): number {
  const place = ({ type }: PlanEvent) => rank.get(type) ?? -1;
  return a.created.getTime() - b.created.getTime() || place(a) - place(b) || (a.id < b.id ? -1 : 1);
}

/** What stands at a path of a value of any shape. */
function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key)
        ? (inner as Record<string, unknown>)[key]
        : undefined,
    value,
  );
}

/** @returns a text of 1 to 255 characters, as the processor's ids and keys are */
function textAt(value: unknown, ...path: readonly string[]): string | null {
  const found = at(value, ...path);
  return typeof found === 'string' && found.length > 0 && found.length <= 255 ? found : null;
}

/** An id, whether or not the record that it names is expanded in its place. */
function idAt(value: unknown, key: string): string | null {
  return textAt(value, key) ?? textAt(value, key, 'id');
}

/** A time that is given in Unix seconds. */
function timeAt(value: unknown, key: string): Date | null {
  const found = at(value, key);
  return typeof found === 'number' && Number.isInteger(found) && found > 0 && found < 1e11
    ? new Date(found * 1_000)
    : null;
}
