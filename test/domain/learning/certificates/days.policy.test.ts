import { expect } from 'chai';
import { printedDay, printedExtent } from '../../../../domain/learning/certificates/days.policy.ts';

describe('what certificates print', () => {
  it('is the day in the club', () => {
    const at = new Date('2026-03-01T23:30:00Z');
    expect([printedDay(at, 'UTC'), printedDay(at, 'Europe/Berlin')]).to.deep.equal(['1 March 2026', '2 March 2026']);
  });

  it('is how many lessons and hours, as far as known', () => {
    expect([{ lessons: 1 }, { lessons: 0, hours: 1 }, { lessons: 2, hours: 9 }].map(printedExtent)).to.deep.equal([
      '1 lesson',
      '0 lessons · 1 hour',
      '2 lessons · 9 hours',
    ]);
  });
});
