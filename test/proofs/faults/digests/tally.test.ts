/** Tests that the final check of `faults digests` finds deliberate errors. */
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
const noMembers = new Set<string>();
const tallied = (
  changed: readonly DigestMailRow[],
  arrived = received,
  unsubscribed: ReadonlySet<string> = noMembers,
) => {
  const { mails, twice, missing } = tallyDigests(members, unsubscribed, changed, arrived);
  return {
    sent: mails.sentMails.length,
    unknown: mails.unknownMails.length,
    untrue: mails.untrue.length,
    twice,
    missing,
  };
};
const nothing = { sent: 2, unknown: 0, untrue: 0, twice: 0, missing: [] };

describe('the final check of the digest proof', () => {
  it('accepts one mail for each member that arrived once', () => {
    expect(tallied(rows)).to.deep.equal(nothing);
  });

  it('counts a member with two rows or two messages as mailed twice', () => {
    expect(tallied([...rows, row('ada', { id: 'other' })], [...received, arrival('ada', 'other')]).twice).to.equal(1);
    expect(tallied(rows, [...received, arrival('ada')])).to.deep.equal({ ...nothing, twice: 1, untrue: 1 });
    expect(tallied(rows, [...received, arrival('ada', 'nobody')])).to.deep.equal({ ...nothing, twice: 1, untrue: 1 });
  });

  it('reports a member without a row or with a skipped row as missing, unless the member unsubscribed', () => {
    const skipped = row('grace', { status: 'skipped', reason: 'nothing_new' });
    const oneSent = { ...nothing, sent: 1 };
    expect(tallied(rows.slice(0, 1), received.slice(0, 1))).to.deep.equal({ ...oneSent, missing: ['grace: no mail'] });
    expect(tallied([row('ada'), skipped], received.slice(0, 1))).to.deep.equal({
      ...oneSent,
      missing: ['grace: nothing_new'],
    });
    expect(tallied([row('ada'), skipped], received.slice(0, 1), new Set(['grace']))).to.deep.equal(oneSent);
  });

  it('reports a pending mail and a sent mail that did not arrive, and counts unknown outcomes', () => {
    expect(tallied(rows, received.slice(0, 1)).untrue).to.equal(1);
    expect(tallied([row('ada'), row('grace', { status: 'sending' })]).untrue).to.equal(1);
    const unknown = [row('ada'), row('grace', { status: 'failed', error: outcomeUnknown })];
    expect(tallied(unknown)).to.deep.equal({ ...nothing, sent: 1, unknown: 1 });
  });
});
