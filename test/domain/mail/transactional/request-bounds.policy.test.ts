/** Tests the hourly limit of a club's mails of one template to one address (DEC-141). */
import { expect } from 'chai';
import { withheldUntil } from '../../../../domain/mail/transactional/request-bounds.policy.ts';

const minute = 60_000;
const at = (minutes: number) => new Date(Date.UTC(2026, 2, 1, 12) + minutes * minute);
/** The mails are minutes, the oldest first. */
const until = (mails: readonly number[], now: number) => withheldUntil(mails.map(at).toReversed(), at(now))?.getTime();

describe('the hourly limit of mails (DEC-141)', () => {
  it('withholds none of the first five mails', () => {
    expect(until([], 0)).to.equal(undefined);
    expect(until([0, 0, 0, 0], 0)).to.equal(undefined);
  });

  it('withholds the sixth mail until ten minutes after the newest mail', () => {
    expect(until([0, 1, 2, 3, 4], 5)).to.equal(at(14).getTime());
    expect(until([0, 1, 2, 3, 4], 14)).to.equal(undefined);
  });

  it('ends when the last hour has only four mails', () => {
    expect(until([0, 10, 20, 30, 55], 56)).to.equal(at(60).getTime());
    expect(until([0, 10, 20, 30, 55], 60)).to.equal(undefined);
    expect(until([0, 10, 20, 30, 40, 55], 60)).to.equal(at(65).getTime());
  });
});
