/** Tests the intended access of a subscription, computed from all recorded charges and marks (ADR 0012). */
import { expect } from 'chai';
import {
  standingOf,
  stepsOf,
  targetOf,
  type Cancellation,
  type Charge,
} from '../../../../domain/sales/purchases/subscription.policy.ts';

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
    ['only a late payment is recorded', [], [], open],
    ['it was charged', [paid('a', 1)], [], open],
    ['the latest charge was refunded', [paid('a', 1), undone('b', 2)], [], refunded],
    ['an older charge was refunded', [undone('a', 1), paid('b', 2)], [], open],
    ['the charge with the greater id of two at one time was refunded', [undone('b', 1), paid('a', 1)], [], refunded],
    ['it was canceled, and the latest charge was refunded', [undone('a', 1)], [canceled(2, 20)], refunded],
    ['it was canceled, and no other event is recorded', [], [canceled(2, 20)], until(20)],
    ['it was canceled immediately', [paid('a', 1)], [canceled(2)], until()],
    ['it was canceled at the time of its charge', [paid('a', 1)], [canceled(1, 9)], until(9)],
    ['it was canceled before its latest charge', [paid('a', 1), paid('b', 3)], [canceled(2, 20)], open],
    ['the newest of two cancellations counts', [paid('a', 1)], [canceled(3, 10), canceled(2, 20)], until(10)],
    [
      'the later end of two cancellations at one time counts',
      [paid('a', 1)],
      [canceled(2, 20), canceled(2)],
      until(20),
    ],
    ['it was charged and canceled again', [paid('a', 1), paid('b', 5)], [canceled(2, 20), canceled(6)], until()],
  ] as const) {
    it(`is ${target.kind} when ${what}`, () => {
      expect(targetOf(charges, cancellations)).to.deep.equal(target);
      expect(targetOf(charges.toReversed(), cancellations.toReversed())).to.deep.equal(target);
    });
  }
});

describe('the steps of a subscription’s access', () => {
  const canceledThen = (date: number, end?: number) => ({ at: on(date), target: until(end) });
  const opened = (date: number) => ({ at: on(date), target: open });
  for (const [what, paidOn, cancellations, steps] of [
    ['charges alone', [1, 2], [], []],
    ['a cancellation alone', [], [canceled(2, 20)], [canceledThen(2, 20)]],
    ['a cancellation after a charge', [1], [canceled(2, 20)], [canceledThen(2, 20)]],
    ['a charge after a cancellation', [1, 3], [canceled(2)], [canceledThen(2), opened(3)]],
    ['a cancellation and the first of two later charges', [3, 4], [canceled(2)], [canceledThen(2), opened(3)]],
    [
      'the time of the first and the end date of the second cancellation',
      [],
      [canceled(2), canceled(3, 20)],
      [canceledThen(2, 20)],
    ],
    ['the later end date of two cancellations at one time', [], [canceled(2, 20), canceled(2)], [canceledThen(2, 20)]],
    ['a charge at the time of a cancellation, which counts as later', [2], [canceled(2)], [canceledThen(2)]],
    [
      'cancellations with a charge between them',
      [1, 3],
      [canceled(2, 20), canceled(4)],
      [canceledThen(2, 20), opened(3), canceledThen(4)],
    ],
  ] as const)
    it(`follow from ${what}`, () => {
      expect(stepsOf(paidOn.map(on), cancellations)).to.deep.equal(steps);
      expect(stepsOf(paidOn.toReversed().map(on), cancellations.toReversed())).to.deep.equal(steps);
    });
});

describe('the status of a subscription', () => {
  const standing = (status: string, pastDue?: number, canceledOn?: number) => ({
    status,
    pastDueSince: pastDue === undefined ? null : on(pastDue),
    canceledAt: canceledOn === undefined ? null : on(canceledOn),
  });
  for (const [what, paidOn, lateOn, cancellations, expected] of [
    ['has no recorded event', [], [], [], standing('active')],
    ['was charged', [1], [], [], standing('active')],
    ['was reported late twice, and the first report counts', [1], [5, 3], [], standing('past_due', 3)],
    ['was never charged, and is late', [], [3], [], standing('past_due', 3)],
    ['was late before its latest charge', [1, 4], [3], [], standing('active')],
    ['was late at the time of its charge', [4, 1], [4], [], standing('active')],
    ['is late again after its latest charge', [1, 4], [3, 6], [], standing('past_due', 6)],
    ['was canceled', [1], [], [canceled(2, 20)], standing('canceled', undefined, 2)],
    ['was canceled while it was late', [1], [3], [canceled(5)], standing('canceled', 3, 5)],
    ['was canceled and charged again', [1, 3], [], [canceled(2)], standing('active')],
  ] as const)
    it(`is ${expected.status} if the subscription ${what}`, () => {
      const paidAt = paidOn.map(on);
      expect(standingOf(paidAt, lateOn.map(on), stepsOf(paidAt, cancellations))).to.deep.equal(expected);
    });
});
