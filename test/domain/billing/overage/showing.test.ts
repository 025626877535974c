import { expect } from 'chai';
import fc from 'fast-check';
import { receiveEvent } from '../../../../domain/billing/events.ts';
import { planOfPriceBy, readEvent } from '../../../../domain/billing/events.policy.ts';
import { readCharges } from '../../../../domain/billing/overage/showing.ts';
import { newId } from '../../../../platform/core/ids.ts';
import { Queries } from '../../../../platform/infra/postgres/database.ts';
import { planRow } from '../../../toolkit/assert/billing.ts';
import { billingEvents } from '../../../toolkit/builders/billing-events.ts';
import { buildOverageCharge } from '../../../toolkit/builders/billing.ts';
import { buildClub } from '../../../toolkit/builders/clubs.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

const start = 1_790_000_000;

const anyEvent = fc.record({
  what: fc.constantFrom('paid', 'payment_failed', 'subscription' as const),
  at: fc.integer({ min: 0, max: 5 }),
  isOfCharge: fc.boolean(),
});

describe('the charges and the plan of a club', () => {
  it('end in one state for any order and repetition of the processor’s events (BILL-11)', async function () {
    this.timeout(120_000);
    const { db } = await testDeps();
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyEvent, { minLength: 1, maxLength: 6 }),
        fc.infiniteStream(fc.nat()),
        async (story, chances) => {
          const states: unknown[] = [];
          for (const turn of [0, 1, 2]) {
            const { id: clubId } = await buildClub();
            const [customer, subscription, invoice] = [newId(), newId(), `in_${newId()}`];
            const settled = { settled_at: new Date(), charged_at: new Date(), item_id: 'ii_1' };
            await buildOverageCharge(clubId, { ...settled, customer, status: 'invoiced', invoice_id: invoice });
            const about = (at: number) => ({ clubId, customer, subscription, at: start + at });
            const first = billingEvents.subscription('created', { ...about(0), plan: 'business' });
            const storyEvents = story.map(({ what, at, isOfCharge }, place) => {
              if (what === 'subscription')
                return billingEvents.subscription('updated', { ...about(at), plan: 'professional' });
              const event = billingEvents.invoice(what, about(at));
              // An invoice of a charge belongs to no subscription.
              if (isOfCharge) event.data.object = { id: invoice, customer };
              return { ...event, id: `${customer}_${place}` };
            });
            const all = [first, ...storyEvents].map((event, place) => ({ ...event, id: `${customer}_${place}` }));
            const events = all.flatMap((event) => readEvent(event, planOfPriceBy([])) ?? []);
            const shuffled =
              turn === 0 ? events : [...events, ...events].toSorted(() => (chances.next().value ?? 0) % 2 || -1);
            if (turn === 2) await Promise.all(shuffled.map((event) => receiveEvent(db, event, new Date())));
            else for (const event of shuffled) await receiveEvent(db, event, new Date());
            const [charge] = await readCharges(new Queries(db.source.manager), clubId);
            const plan = JSON.stringify(await planRow(clubId))
              .replaceAll(customer, 'cus')
              .replaceAll(subscription, 'sub');
            states.push({ plan, charge: charge?.status });
          }
          expect(states[1]).to.deep.equal(states[0]);
          expect(states[2]).to.deep.equal(states[0]);
        },
      ),
      { numRuns: 30 },
    );
  });
});
