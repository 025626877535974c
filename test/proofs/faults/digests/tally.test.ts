/** What `faults -- digests` says of planted faults. */
import { expect } from 'chai';
import { outcomeUnknown } from '../../../../domain/mail/sending/recipients.policy.ts';
import { tallyDigests, type DigestMailRow } from './tally.ts';

const row = (studentId: string, more: Partial<DigestMailRow> = {}): DigestMailRow => ({
  id: `mail-${studentId}`,
  studentId,
  status: 'sent',
  reason: null,
  error: null,
  attempts: 1,
  ...more,
});
const arrival = (studentId: string, mailId = `mail-${studentId}`) => ({
  to: `${studentId}@example.com`,
  mailId,
  at: 0,
});
const members = ['ada', 'grace'];
const rows = members.map((id) => row(id));
const received = members.map((id) => arrival(id));
const nobody = new Set<string>();
const tallied = (changed: readonly DigestMailRow[], arrived = received, left: ReadonlySet<string> = nobody) => {
  const { mails, twice, missing } = tallyDigests(members, left, changed, arrived);
  return { sent: mails.sent.length, unknown: mails.unknown.length, untrue: mails.untrue.length, twice, missing };
};
const nothing = { sent: 2, unknown: 0, untrue: 0, twice: 0, missing: [] };

describe('tally of faults -- digests', () => {
  it('nothing is wrong where each member has one mail that arrived once', () => {
    expect(tallied(rows)).to.deep.equal(nothing);
  });

  it('twice: two rows, two messages of one row, or two messages at one address', () => {
    expect(tallied([...rows, row('ada', { id: 'other' })], [...received, arrival('ada', 'other')]).twice).to.equal(1);
    expect(tallied(rows, [...received, arrival('ada')])).to.deep.equal({ ...nothing, twice: 1, untrue: 1 });
    expect(tallied(rows, [...received, arrival('ada', 'nobody')])).to.deep.equal({ ...nothing, twice: 1, untrue: 1 });
  });

  it('missing: no row, or one that was skipped, unless the member had left', () => {
    const skipped = row('grace', { status: 'skipped', reason: 'nothing_new' });
    const one = { ...nothing, sent: 1 };
    expect(tallied(rows.slice(0, 1), received.slice(0, 1))).to.deep.equal({ ...one, missing: ['grace: no mail'] });
    expect(tallied([row('ada'), skipped], received.slice(0, 1))).to.deep.equal({
      ...one,
      missing: ['grace: nothing_new'],
    });
    expect(tallied([row('ada'), skipped], received.slice(0, 1), new Set(['grace']))).to.deep.equal(one);
  });

  it('untrue: said to be sent and not there, or still open; unknown is known to be so', () => {
    expect(tallied(rows, received.slice(0, 1)).untrue).to.equal(1);
    expect(tallied([row('ada'), row('grace', { status: 'sending' })]).untrue).to.equal(1);
    const unknown = [row('ada'), row('grace', { status: 'failed', error: outcomeUnknown })];
    expect(tallied(unknown)).to.deep.equal({ ...nothing, sent: 1, unknown: 1 });
  });
});
