import { expect } from 'chai';
import fc from 'fast-check';
import { receiveEvent } from '../../../domain/billing/events.ts';
import { planOfPriceBy, planStateOf, readEvent, type ReadEvent } from '../../../domain/billing/events.policy.ts';
import { plans } from '../../../domain/billing/plans.policy.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { overagesOf, planRow } from '../../toolkit/assert/billing.ts';
import { buildStudentCount } from '../../toolkit/builders/billing.ts';
import { billingEvents } from '../../toolkit/builders/billing-events.ts';
import { buildClub } from '../../toolkit/builders/clubs.ts';
import { testDeps } from '../../toolkit/stack/database.ts';

const planOfPrice = planOfPriceBy([]);
const start = 1_790_000_000;

/** The event concerns one of two subscriptions. */
const anyEvent = fc.record({
  what: fc.constantFrom('checkout', 'created', 'updated', 'deleted', 'paid', 'payment_failed' as const),
  at: fc.integer({ min: start, max: start + 8 }),
  subscription: fc.constantFrom('sub_a', 'sub_b'),
  plan: fc.constantFrom('starter', 'professional', 'business', 'platinum'),
  currency: fc.constantFrom('usd', 'eur', undefined),
  status: fc.constantFrom('active', 'past_due', 'trialing', 'incomplete', 'canceled', 'unheard_of'),
});
type Told = typeof anyEvent extends fc.Arbitrary<infer One> ? One : never;

function eventOf({ what, at, subscription, plan, status, currency }: Told, customer: string, clubId: Id): ReadEvent {
  const about = { at, subscription: `${subscription}_${customer}`, customer };
  const stripeEvent =
    what === 'checkout'
      ? billingEvents.checkout({ ...about, clubId })
      : what === 'paid' || what === 'payment_failed'
        ? billingEvents.invoice(what, about)
        : billingEvents.subscription(what, {
            ...about,
            plan,
            periodEnd: at + 100,
            ...(currency !== undefined && { currency }),
            ...(what !== 'deleted' && { status }),
          });
  const event = readEvent(stripeEvent, planOfPrice);
  if (!event) throw new Error('The built event cannot be read');
  return event;
}

describe('events of the payment processor', () => {
  it('lead to the same plan in any order, even if they repeat or arrive at the same time', async function () {
    this.timeout(120_000);
    const { db } = await testDeps();
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyEvent, { minLength: 1, maxLength: 7 }),
        fc.infiniteStream(fc.nat()),
        async (story, chances) => {
          const states: unknown[] = [];
          const clubs = await Promise.all(
            [1, 2, 3].map(async () => ({ id: (await buildClub()).id, customer: newId() })),
          );
          const ids = story.map(() => newId());
          for (const [turn, { id, customer }] of clubs.entries()) {
            // The events always include a checkout that names the club.
            const whole: Told[] = [
              ...story,
              {
                what: 'checkout',
                at: start,
                subscription: 'sub_a',
                plan: 'starter',
                status: 'active',
                currency: 'usd',
              },
            ];
            const events = whole.map((one, place) => ({
              ...eventOf(one, customer, id),
              id: `${customer}_${ids[place] ?? 'first'}`,
            }));
            const shuffled =
              turn === 0 ? events : [...events, ...events].toSorted(() => (chances.next().value ?? 0) % 2 || -1);
            if (turn === 2) await Promise.all(shuffled.map((event) => receiveEvent(db, event, new Date())));
            else for (const event of shuffled) await receiveEvent(db, event, new Date());
            states.push(JSON.parse(JSON.stringify(await planRow(id)).replaceAll(customer, 'cus')));
          }
          expect(states[1]).to.deep.equal(states[0]);
          expect(states[2]).to.deep.equal(states[0]);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('name their club only in the metadata, because buyers can set client_reference_id', async () => {
    const { db } = await testDeps();
    const { id: clubId } = await buildClub();
    const stripeEvent = billingEvents.checkout({ customer: newId(), at: start });
    Object.assign(stripeEvent.data.object, { client_reference_id: clubId });
    const event = readEvent(stripeEvent, planOfPrice);
    expect(event?.namedClub).to.equal(null);
    expect(event && (await receiveEvent(db, event, new Date()))).to.equal('unknown_club');
    expect(readEvent(billingEvents.checkout({ clubId }), planOfPrice)?.namedClub).to.equal(clubId);
  });

  it('use the later subscription if two customers of one club each buy a plan', async () => {
    const { db } = await testDeps();
    for (let round = 0; round < 15; round++) {
      const { id: clubId } = await buildClub();
      const events = ['starter', 'business'].map((plan, place) => {
        const about = { clubId, customer: newId(), subscription: newId(), plan, at: start + place };
        return readEvent(billingEvents.subscription('created', about), planOfPrice);
      });
      await Promise.all(events.map(async (event) => event && receiveEvent(db, event, new Date())));
      expect(await planRow(clubId), `round ${round}`).to.include({
        plan: 'business',
        customer_id: events[1]?.customerId,
      });
    }
  });

  it('record the club’s excess when the club gets a plan that bills overage (BILL-7)', async () => {
    const { db } = await testDeps();
    const { id: clubId } = await buildClub();
    await buildStudentCount(clubId, plans.business.allowances.students.included + 4);
    const about = { clubId, customer: newId(), subscription: newId() };
    const march = new Date('2026-03-15T12:00:00Z');
    const receive = async (plan: string, at: number) => {
      const event = readEvent(billingEvents.subscription('updated', { ...about, plan, at }), planOfPrice);
      return event && receiveEvent(db, event, march);
    };
    expect([await receive('starter', start), await overagesOf(clubId)]).to.deep.equal(['applied', []]);
    expect(await receive('business', start + 1)).to.equal('applied');
    expect(await overagesOf(clubId)).to.deep.equal(['students 2026-03-01 4']);
  });

  it('lead to the same plan in reverse order, and to the starter plan after the cancellation', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 10 }), (story) => {
        const events = story.map((one) => eventOf(one, 'cus', newId())).filter(({ priceUnknown }) => !priceUnknown);
        const state = planStateOf(events, 'professional');
        const reversed = planStateOf(events.toReversed(), 'professional');
        expect(reversed).to.deep.equal(state);
        const own = events.filter(({ subscriptionId }) => subscriptionId === state.subscriptionId);
        const canceled = own.some(({ status }) => status === 'canceled');
        if (state.subscriptionId !== null) expect(state.status === 'canceled').to.equal(canceled);
        if (state.status === 'canceled') expect(state.plan).to.equal('starter');
      }),
    );
  });

  it('keep the newer subscription active if an older subscription ends', () => {
    const about = { at: start, plan: 'business', subscription: 'sub_a', customer: 'cus' };
    const events = [
      billingEvents.subscription('created', { ...about, plan: 'starter' }),
      billingEvents.subscription('created', { ...about, subscription: 'sub_b', at: start + 1 }),
      billingEvents.subscription('deleted', { ...about, at: start + 2 }),
    ].map((event) => readEvent(event, planOfPrice));
    const read = events.filter((event) => event !== undefined);
    expect(planStateOf(read, 'professional')).to.include({
      plan: 'business',
      status: 'active',
      subscriptionId: 'sub_b',
    });
  });
});
