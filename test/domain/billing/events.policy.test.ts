/** Tests how the platform reads events of the payment processor (BILL-1). */
import { expect } from 'chai';
import {
  planOfPriceBy,
  planStateOf,
  readEvent,
  type PlanEvent,
  type PlanOfPrice,
} from '../../../domain/billing/events.policy.ts';
import { billingEvents } from '../../toolkit/builders/billing-events.ts';

const byLookupKey = planOfPriceBy([]);
const start = 1_790_000_000;
const at = (seconds: number) => new Date((start + seconds) * 1_000);

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
};

/** Without the event's id, type and time. */
function dataOf(type: string, object: unknown, planOfPrice: PlanOfPrice = byLookupKey) {
  const read = readEvent({ id: 'evt_1', type, created: start, data: { object } }, planOfPrice);
  const { id, type: sameType, created, ...rest } = read ?? {};
  expect([id, sameType, created]).to.deep.equal(['evt_1', type, at(0)]);
  return rest;
}

const itemOf = (plan: string | null, id = 'price_1', periodEnd?: number) => ({
  price: { id, lookup_key: plan },
  ...(periodEnd !== undefined && { current_period_end: periodEnd }),
});
const subscriptionOf = (changes: object = {}) => ({
  id: 'sub_1',
  customer: 'cus_1',
  status: 'active',
  items: { data: [itemOf('business', 'price_1', start + 9)] },
  ...changes,
});
const read = { customerId: 'cus_1', subscriptionId: 'sub_1' };
const named = { metadata: { club_id: 'club_1' } };

describe('an event of the payment processor', () => {
  for (const [what, type, object, expected] of [
    [
      'names its customer, subscription and club in a checkout',
      'checkout.session.completed',
      { customer: 'cus_1', subscription: 'sub_1', ...named },
      { ...read, namedClub: 'club_1' },
    ],
    [
      'names its customer, subscription and club in a checkout with nested objects',
      'checkout.session.completed',
      { customer: { id: 'cus_1' }, subscription: { id: 'sub_1' }, ...named },
      { ...read, namedClub: 'club_1' },
    ],
    [
      'names no club if only the buyer can have set it in the link',
      'checkout.session.completed',
      { client_reference_id: 'club_1' },
      {},
    ],
    [
      'states the plan, status and end of the period of a new subscription',
      'customer.subscription.created',
      subscriptionOf(named),
      { ...read, plan: 'business', status: 'active', currentPeriodEnd: at(9), namedClub: 'club_1' },
    ],
    [
      'states the end of the period of an older subscription',
      'customer.subscription.updated',
      subscriptionOf({ items: { data: [itemOf('starter')] }, current_period_end: start + 3 }),
      { ...read, plan: 'starter', status: 'active', currentPeriodEnd: at(3) },
    ],
    [
      'says the plan and period of a subscription’s second item if the first item has an unknown price',
      'customer.subscription.updated',
      subscriptionOf({
        items: { data: [itemOf(null, 'price_0', start + 1), itemOf('starter', 'price_1', start + 2)] },
      }),
      { ...read, plan: 'starter', status: 'active', currentPeriodEnd: at(2) },
    ],
    [
      'reports an unknown price if all prices are unknown, and says the period of the first price',
      'customer.subscription.updated',
      subscriptionOf({ items: { data: [itemOf('gold', 'price_0', start + 1), itemOf(null, 'price_1', start + 2)] } }),
      { ...read, status: 'active', currentPeriodEnd: at(1), priceUnknown: true },
    ],
    [
      'says that a subscription without items has an unknown price',
      'customer.subscription.updated',
      subscriptionOf({ items: { data: { 0: itemOf('starter') } } }),
      { ...read, status: 'active', priceUnknown: true },
    ],
    [
      'reports no unknown price for a subscription that is canceled',
      'customer.subscription.updated',
      subscriptionOf({ status: 'canceled', items: undefined }),
      { ...read, status: 'canceled' },
    ],
    [
      'says no plan and no state for a subscription that has not begun',
      'customer.subscription.updated',
      subscriptionOf({ status: 'incomplete', items: { data: [itemOf('business')] } }),
      read,
    ],
    [
      'says no plan and no state for a subscription whose own state is missing',
      'customer.subscription.created',
      subscriptionOf({ status: undefined, items: undefined }),
      read,
    ],
    [
      'says that a deleted subscription is canceled, although its record has a different state and price',
      'customer.subscription.deleted',
      subscriptionOf({ items: { data: [itemOf('gold')] } }),
      { ...read, status: 'canceled' },
    ],
    [
      'states the currency of its subscription',
      'customer.subscription.updated',
      subscriptionOf({ currency: 'brl' }),
      { ...read, plan: 'business', status: 'active', currentPeriodEnd: at(9), currency: 'brl' },
    ],
    [
      'states no currency that is not three small letters',
      'customer.subscription.updated',
      subscriptionOf({ currency: 'Brazilian real' }),
      { ...read, plan: 'business', status: 'active', currentPeriodEnd: at(9) },
    ],
    [
      'names its invoice, which may belong to no subscription',
      'invoice.payment_failed',
      { id: 'in_7', customer: 'cus_1' },
      { customerId: 'cus_1', status: 'past_due', invoiceId: 'in_7' },
    ],
    [
      'says that the subscription of a paid invoice is active',
      'invoice.paid',
      { customer: 'cus_1', parent: { subscription_details: { subscription: 'sub_1', ...named } } },
      { ...read, status: 'active', namedClub: 'club_1' },
    ],
    [
      'says that a subscription with a failed invoice is past due, if the invoice has the older shape',
      'invoice.payment_failed',
      { customer: 'cus_1', subscription: 'sub_1' },
      { ...read, status: 'past_due' },
    ],
    ['says nothing if its type is unknown', 'customer.created', { customer: 'cus_1' }, {}],
    [
      'says nothing if its type is the name of a JavaScript property, such as toString',
      'toString',
      { customer: 'cus_1' },
      {},
    ],
    ['says nothing if it has no object', 'checkout.session.completed', null, {}],
  ] as const)
    it(what, () => {
      expect(dataOf(type, object)).to.deep.equal({ ...saysNothing, ...expected });
    });

  for (const [word, status] of [
    ['active', 'active'],
    ['trialing', 'active'],
    ['past_due', 'past_due'],
    ['unpaid', 'past_due'],
    ['paused', 'past_due'],
    ['canceled', 'canceled'],
  ] as const)
    it(`reports ${status} for a subscription with the status ${word}`, () => {
      expect(dataOf('customer.subscription.updated', subscriptionOf({ status: word }))).to.include({ status });
    });

  it('takes the plan from the configured price, not from the lookup key', () => {
    const planOfPrice = planOfPriceBy(['price_1=starter', 'price_2=gold']);
    const planOf = (id: string | null, lookupKey: string | null) => planOfPrice({ id, lookupKey });
    expect([planOf('price_1', 'business'), planOf('price_2', 'business'), planOf(null, 'trial')]).to.deep.equal([
      'starter',
      'business',
      'trial',
    ]);
    expect([planOf('price_2', null), planOf(null, null), planOf(null, 'gold')]).to.deep.equal([
      undefined,
      undefined,
      undefined,
    ]);
  });

  for (const [what, changes] of [
    ['the id is absent', { id: undefined }],
    ['the id is empty', { id: '' }],
    ['the id has 256 characters', { id: 'e'.repeat(256) }],
    ['the id is a number', { id: 7 }],
    ['the type is null', { type: null }],
    ['the time is null', { created: null }],
    ['the time is 0', { created: 0 }],
    ['the time contains a fraction of a second', { created: start + 0.5 }],
    ['the time is text', { created: String(start) }],
    ['the time is thousands of years ahead', { created: 1e11 }],
  ] as const)
    it(`is refused if ${what}`, () => {
      expect(readEvent(Object.assign({ id: 'evt_1', type: 'x', created: start }, changes), byLookupKey)).to.equal(
        undefined,
      );
    });

  it('may have the time 1 and an id of 255 characters', () => {
    const id = 'e'.repeat(255);
    const found = readEvent({ id, type: 'x', created: 1 }, byLookupKey);
    expect(found).to.deep.equal({
      id,
      type: 'x',
      created: new Date(1_000),
      ...saysNothing,
    });
  });

  it('is refused if it is not an object', () => {
    expect([null, undefined, 'evt_1', 7, []].map((event) => readEvent(event, byLookupKey))).to.deep.equal([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

/** Each event is one second later than the previous event. */
const event = (second: number, changes: Partial<PlanEvent> = {}): PlanEvent => ({
  id: `evt_${second}`,
  type: 'customer.subscription.updated',
  created: at(second),
  customerId: 'cus_1',
  subscriptionId: 'sub_1',
  plan: 'starter',
  status: 'active',
  currentPeriodEnd: null,
  currency: null,
  ...changes,
});
const stateOf = (...events: PlanEvent[]) => planStateOf(events, 'trial');
const opening = {
  plan: 'trial',
  status: 'active',
  subscriptionId: null,
  currentPeriodEnd: null,
  currency: null,
  changedAt: null,
};
const silent = { plan: null, status: null } as const;

describe('the plan from the events of a club', () => {
  for (const [what, events, expected] of [
    ['is the opening plan if the club has no events', [], { ...opening, customerId: null }],
    [
      'is the opening plan if no event states a plan',
      [
        event(1, { ...silent, customerId: 'cus_1', subscriptionId: null }),
        event(2, { ...silent, customerId: 'cus_2' }),
        event(3, { ...silent, customerId: null, subscriptionId: null }),
      ],
      { ...opening, customerId: 'cus_2' },
    ],
    [
      'is the opening plan if the stated plan belongs to no subscription',
      [event(1, { subscriptionId: null })],
      { ...opening, customerId: 'cus_1' },
    ],
    [
      'has the newest value of each field',
      [
        event(1, { plan: 'business', currentPeriodEnd: at(50), currency: 'eur' }),
        event(2, { plan: null, status: 'past_due', customerId: 'cus_2' }),
        event(3, { ...silent, customerId: null }),
      ],
      {
        plan: 'business',
        status: 'past_due',
        customerId: 'cus_2',
        subscriptionId: 'sub_1',
        currentPeriodEnd: at(50),
        currency: 'eur',
        changedAt: at(3),
      },
    ],
    [
      'is active if no event states a status',
      [event(1, { status: null })],
      {
        plan: 'starter',
        status: 'active',
        customerId: 'cus_1',
        subscriptionId: 'sub_1',
        currentPeriodEnd: null,
        currency: null,
        changedAt: at(1),
      },
    ],
  ] as const)
    it(what, () => {
      expect(stateOf(...events)).to.deep.equal(expected);
    });

  for (const [what, events, expected] of [
    [
      'is the plan of the newest subscription that has not ended',
      [
        event(1, { subscriptionId: 'sub_1', plan: 'starter' }),
        event(2, { subscriptionId: 'sub_2', plan: 'business' }),
        event(3, { subscriptionId: 'sub_3', status: 'canceled' }),
      ],
      { subscriptionId: 'sub_2', plan: 'business', status: 'active' },
    ],
    [
      'is the plan after a cancellation if all subscriptions have ended',
      [
        event(1, { subscriptionId: 'sub_1', plan: 'business', status: 'canceled' }),
        event(2, { subscriptionId: 'sub_2', plan: 'business', status: 'canceled' }),
      ],
      { subscriptionId: 'sub_2', plan: 'starter', status: 'canceled' },
    ],
    [
      'stays canceled even if a later event states a plan',
      [event(1, { plan: 'business', status: 'canceled' }), event(2, { plan: 'business' })],
      { plan: 'starter', status: 'canceled' },
    ],
    [
      'ignores the payment of an invoice without a subscription, such as one for overage',
      [event(1), event(2, { ...silent, subscriptionId: null, status: 'past_due' })],
      { plan: 'starter', status: 'active' },
    ],
    [
      'follows the event with the later id if two events of one type are in the same second',
      [event(1, { id: 'evt_b', plan: 'business' }), event(1, { id: 'evt_a', plan: 'professional' })],
      { plan: 'business' },
    ],
    [
      'ranks events of unknown types lowest within a second',
      [
        event(1, { type: 'unheard.of', plan: 'professional' }),
        event(1, { type: 'checkout.session.completed', plan: 'business' }),
      ],
      { plan: 'business' },
    ],
  ] as const)
    it(what, () => {
      expect(stateOf(...events)).to.include(expected);
      expect(stateOf(...events.toReversed())).to.include(expected);
    });

  const second = { at: start, plan: 'business', subscription: 'sub_a', customer: 'cus' };
  for (const [what, events, expected] of [
    [
      'an update that follows the creation',
      [
        billingEvents.subscription('updated', second),
        billingEvents.subscription('created', { ...second, plan: 'starter' }),
      ],
      { plan: 'business', status: 'active' },
    ],
    [
      'a payment that follows a failed payment',
      [
        billingEvents.subscription('created', second),
        billingEvents.invoice('paid', second),
        billingEvents.invoice('payment_failed', second),
      ],
      { plan: 'business', status: 'active' },
    ],
    [
      'a deletion that follows all other events',
      [billingEvents.subscription('deleted', second), billingEvents.subscription('updated', second)],
      { plan: 'starter', status: 'canceled' },
    ],
  ] as const)
    it(`orders events of one second by their type: ${what}`, () => {
      const own = events.map((one) => readEvent(one, byLookupKey)).filter((one) => one !== undefined);
      expect(stateOf(...own)).to.include(expected);
      expect(stateOf(...own.toReversed())).to.include(expected);
    });
});
