import { expect } from 'chai';
import { greatest, least } from '../../../platform/core/extremes.ts';
import { standingOf } from '../../../domain/sales/purchases/subscription.policy.ts';

describe('the minimum and the maximum of many numbers', () => {
  it('are found among a million numbers, too many for Math.min', () => {
    const values = Array.from({ length: 1_000_000 }, (_, index) => (index * 7_919) % 1_000_003);
    expect(() => Math.max(...values)).to.throw(RangeError);
    expect([least(values), greatest(values)]).to.deep.equal([0, 1_000_002]);
  });

  it('are Infinity and -Infinity for an empty list', () => {
    expect([least([]), greatest([])]).to.deep.equal([Infinity, -Infinity]);
  });

  it('are found among the times of 400,000 charges of one subscription', () => {
    const paidAt = Array.from({ length: 200_000 }, (_, second) => new Date(second * 1_000));
    const lateAt = Array.from({ length: 200_000 }, (_, second) => new Date(1e9 + second * 1_000));
    expect(standingOf(paidAt, lateAt, [])).to.deep.equal({
      status: 'past_due',
      pastDueSince: new Date(1e9),
      canceledAt: null,
    });
  });
});
