/** What the access of a subscription is to be, from all that is known of it (ADR 0012). */
import { expect } from 'chai';
import { targetOf, type Cancellation, type Charge } from '../../../../domain/sales/purchases/subscription.policy.ts';

const on = (date: number) => new Date(Date.UTC(2026, 2, date));
const paid = (externalId: string, date: number): Charge => ({ externalId, paidAt: on(date), undone: false });
const undone = (externalId: string, date: number): Charge => ({ ...paid(externalId, date), undone: true });
const canceled = (date: number, end?: number): Cancellation => ({
  at: on(date),
  periodEnd: end === undefined ? null : on(end),
});
const open = { kind: 'open' } as const;
const refunded = { kind: 'refunded' } as const;
const until = (date?: number) =>
  ({ kind: 'canceled', periodEnd: date === undefined ? null : on(date).toISOString() }) as const;

describe('access of a subscription', () => {
  for (const [what, charges, cancellations, target] of [
    ['nothing but a late payment is known', [], [], open],
    ['it was charged', [paid('a', 1)], [], open],
    ['the latest charge was refunded', [paid('a', 1), undone('b', 2)], [], refunded],
    ['an older charge was refunded', [undone('a', 1), paid('b', 2)], [], open],
    ['of two charges of one time that with the greater id was refunded', [undone('b', 1), paid('a', 1)], [], refunded],
    ['it was canceled and the latest charge refunded', [undone('a', 1)], [canceled(2, 20)], refunded],
    ['it was canceled before anything else is known', [], [canceled(2, 20)], until(20)],
    ['it was canceled at once', [paid('a', 1)], [canceled(2)], until()],
    ['it was canceled at the time of its charge', [paid('a', 1)], [canceled(1, 9)], until(9)],
    ['it was canceled before its latest charge', [paid('a', 1), paid('b', 3)], [canceled(2, 20)], open],
    [
      'it was canceled twice, by the newest cancellation',
      [paid('a', 1)],
      [canceled(3, 10), canceled(2, 20)],
      until(10),
    ],
    ['it was canceled twice at one time, by the later end', [paid('a', 1)], [canceled(2, 20), canceled(2)], until(20)],
    ['it was charged and canceled again', [paid('a', 1), paid('b', 5)], [canceled(2, 20), canceled(6)], until()],
  ] as const) {
    it(`is ${target.kind} when ${what}`, () => {
      expect(targetOf(charges, cancellations)).to.deep.equal(target);
      expect(targetOf(charges.toReversed(), cancellations.toReversed())).to.deep.equal(target);
    });
  }
});
