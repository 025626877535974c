import { expect } from 'chai';
import { afterCheck, type DomainStanding } from '../../../../domain/mail/domains/checks.policy.ts';

const hour = 3_600_000;
const day = 24 * hour;
const start = new Date('2026-03-02T12:00:00Z');
const later = (ms: number) => new Date(start.getTime() + ms);

describe('the result of a mail domain’s check (CAMP-40)', () => {
  const unproven: DomainStanding = { status: 'unproven', statusSince: start, firstProvenAt: null, answeredAt: null };
  const proven: DomainStanding = { status: 'proven', statusSince: start, firstProvenAt: start, answeredAt: start };

  it('makes the domain proven, and plans the next check in a day', () => {
    const once = afterCheck(unproven, 'proven', later(hour));
    expect(once).to.deep.equal({
      status: 'proven',
      statusSince: later(hour),
      firstProvenAt: later(hour),
      answeredAt: later(hour),
      looksAt: later(hour + day),
    });
    expect(afterCheck(once, 'proven', later(2 * hour))).to.include({ statusSince: once.statusSince });
  });

  it('does not start the warm-up before the domain is proven', () => {
    for (const answer of ['not proven', 'unanswered'] as const)
      expect(afterCheck(unproven, answer, later(hour))).to.include({ status: 'unproven', firstProvenAt: null });
  });

  it('checks an unproven domain each hour for three days, then each day', () => {
    const waits = [0, 3 * day - 1, 3 * day].map((ms) => {
      const { status, looksAt } = afterCheck(unproven, 'not proven', later(ms));
      return [status, looksAt.getTime() - later(ms).getTime()];
    });
    expect(waits).to.deep.equal([
      ['unproven', hour],
      ['unproven', hour],
      ['unproven', day],
    ]);
  });

  it('ends a proof immediately if a record is gone', () => {
    const lapsed = afterCheck(proven, 'not proven', later(day));
    expect(lapsed).to.deep.include({ status: 'lapsed', statusSince: later(day), firstProvenAt: start });
    expect(lapsed.looksAt).to.deep.equal(later(day + hour));
    expect(afterCheck(lapsed, 'proven', later(2 * day))).to.deep.include({ status: 'proven', firstProvenAt: start });
  });

  it('keeps the status for three days if DNS does not answer', () => {
    const silent = afterCheck(proven, 'unanswered', later(3 * day - 1));
    expect(silent).to.deep.include({ status: 'proven', answeredAt: start, looksAt: later(3 * day - 1 + hour) });
    expect(afterCheck(silent, 'unanswered', later(3 * day))).to.include({ status: 'lapsed' });
    expect(afterCheck({ ...proven, answeredAt: null }, 'unanswered', later(1))).to.include({ status: 'lapsed' });
    expect(afterCheck(unproven, 'unanswered', later(9 * day))).to.include({ status: 'unproven' });
  });
});
