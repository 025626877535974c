/** Tests that the final check of `faults overage` finds deliberate errors. */
import { expect } from 'chai';
import { tallyOverages, type LedgerItem } from './tally.ts';

const month = '2026-03-01';
const club = { clubId: 'club-1', amount: 2_000, isInvoiced: true };
const item = (changes: Partial<LedgerItem> = {}): LedgerItem => ({
  metadata: { club_id: 'club-1', month, resource: 'students' },
  amount: 2_000,
  invoice: 'in_1',
  ...changes,
});
const tallied = (...items: LedgerItem[]) => tallyOverages([club], [month], items);
const nothing = { charged: 1, twice: [], missing: [], wrong: [] };

describe('the final check of the overage proof', () => {
  it('accepts one item for each month', () => {
    expect(tallied(item())).to.deep.equal(nothing);
  });

  it('reports a month with two items, and a month without an item', () => {
    expect(tallied(item(), item()).twice).to.deep.equal([`club-1 ${month} students: 2 items`]);
    expect(tallied()).to.deep.equal({ ...nothing, charged: 0, missing: [`club-1 ${month} students`] });
  });

  it('reports a wrong amount, a missing invoice, and an unexpected month', () => {
    expect(tallied(item({ amount: 1 })).wrong).to.deep.equal([`club-1 ${month} students: 1 instead of 2000`]);
    expect(tallied(item({ invoice: null })).wrong).to.deep.equal([`club-1 ${month} students is on no invoice`]);
    const other = item({ metadata: { club_id: 'club-1', month: '2026-04-01', resource: 'students' } });
    expect(tallied(item(), other).wrong).to.deep.equal(['club-1 2026-04-01 students was not expected']);
  });
});
