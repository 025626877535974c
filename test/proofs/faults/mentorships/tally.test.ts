/** What `faults -- mentorships` says of planted faults: a judgement that cannot fail proves nothing. */
import { expect } from 'chai';
import { tallySessions, type Evidence, type SessionRow, type SessionTally } from './tally.ts';

const now = new Date('2026-03-02T12:00:00Z');
const minutes = (count: number) => new Date(now.getTime() + count * 60_000);

/** One session in just under an hour, booked 10 minutes ago; its reminder was due 5 minutes ago. */
const session: SessionRow = {
  id: 's1',
  mentorId: 'm1',
  studentId: 'ada',
  isRemoved: false,
  status: 'booked',
  sequence: 0,
  startsAt: minutes(55),
  endsAt: minutes(70),
  busyUntil: minutes(75),
};
const time = {
  sessionId: 's1',
  sequence: 0,
  status: 'booked',
  startsAt: minutes(55),
  bookedAt: minutes(-10),
  at: minutes(-10),
};
const mail = (id: string, template: string, more: object = {}) => ({
  id,
  sessionId: 's1',
  sequence: 0,
  template: `mentorship_${template}`,
  status: 'sent',
  email: 'ada@example.com',
  ...more,
});
const arrival = (mailId: string, at = minutes(-4)) => ({ to: 'ada@example.com', mailId, at: at.getTime() });

const right: Evidence = {
  sessions: [session],
  times: [time],
  mails: [mail('b', 'booked'), mail('mb', 'mentor_booked'), mail('h', 'hour_before')],
  received: ['b', 'mb', 'h'].map((id) => arrival(id)),
  told: [{ sessionId: 's1', startsAt: minutes(55), isCanceled: false }],
  judgedAt: now,
};
const nothing: SessionTally = {
  sessions: 1,
  doubleBooked: [],
  reminders: 1,
  remindersMissing: [],
  othersMissing: [],
  twice: [],
  spared: 0,
  vain: [],
  repeated: 0,
  untrue: [],
  lost: [],
};
const tallied = (more: Partial<Evidence>) => tallySessions({ ...right, ...more });
const beside = (more: Partial<SessionRow>): Partial<Evidence> => ({
  sessions: [session, { ...session, id: 's2', ...more }],
  told: [...right.told, { sessionId: 's2', startsAt: more.startsAt ?? session.startsAt, isCanceled: false }],
});
/** It was moved to the next day when it should have been reminded of in `inMinutes`. */
const moved = (inMinutes: number): Partial<Evidence> => {
  const at = minutes(-5 - inMinutes);
  const later = { startsAt: minutes(2_000), endsAt: minutes(2_015), busyUntil: minutes(2_020), sequence: 1 };
  return {
    sessions: [{ ...session, ...later }],
    times: [time, { ...time, sequence: 1, startsAt: minutes(2_000), bookedAt: at, at }],
    told: [{ sessionId: 's1', startsAt: minutes(2_000), isCanceled: false }],
  };
};
const toldOfMove = [mail('b1', 'booked', { sequence: 1 }), mail('mb1', 'mentor_booked', { sequence: 1 })];

describe('tally of faults -- mentorships', () => {
  it('nothing is wrong where all is as it must be', () => {
    expect(tallySessions(right)).to.deep.equal(nothing);
  });

  it('two sessions of a mentor overlap, also with the buffer alone; one after it does not', () => {
    const found = (startsAt: Date) =>
      tallied(beside({ studentId: 'grace', startsAt, endsAt: minutes(200), busyUntil: minutes(205) })).doubleBooked;
    expect(found(minutes(74))).to.deep.equal(['mentorId m1: s1 and s2']);
    expect(found(minutes(75))).to.deep.equal([]);
    const canceled = beside({ studentId: 'grace', status: 'canceled' });
    expect(tallied(canceled).doubleBooked).to.deep.equal([]);
  });

  it('two sessions of a student overlap, whoever the mentors are; the buffer is not theirs', () => {
    const found = (startsAt: Date) =>
      tallied(beside({ mentorId: 'm2', startsAt, endsAt: minutes(200), busyUntil: minutes(205) })).doubleBooked;
    expect(found(minutes(69))).to.deep.equal(['studentId ada: s1 and s2']);
    expect(found(minutes(70))).to.deep.equal([]);
  });

  it('a reminder is missing: never asked for, or said to be sent and not there', () => {
    const without = tallied({ mails: right.mails.slice(0, 2), received: right.received.slice(0, 2) });
    expect(without).to.deep.equal({ ...nothing, remindersMissing: ['s1 mentorship_hour_before 0'] });
    const lied = tallied({ received: right.received.slice(0, 2) });
    expect(lied.remindersMissing).to.deep.equal(['s1 mentorship_hour_before 0']);
    expect(lied.untrue).to.have.length(1);
  });

  it('no reminder is missing that was not due when the session was booked, or is not due yet', () => {
    const two = { mails: right.mails.slice(0, 2), received: right.received.slice(0, 2) };
    expect(tallied({ ...two, times: [{ ...time, bookedAt: minutes(-5) }] })).to.deep.equal({
      ...nothing,
      reminders: 0,
    });
    expect(tallied({ ...two, judgedAt: minutes(-6) })).to.deep.equal({ ...nothing, reminders: 0 });
  });

  it('a confirmation or a cancellation is missing', () => {
    expect(tallied({ mails: right.mails.slice(1), received: right.received.slice(1) }).othersMissing).to.deep.equal([
      's1 mentorship_booked 0',
    ]);
    const canceled = tallied({ times: [time, { ...time, sequence: 1, status: 'canceled', at: minutes(-2) }] });
    expect(canceled.othersMissing).to.deep.equal(['s1 mentorship_canceled 1', 's1 mentorship_mentor_canceled 1']);
  });

  it('a removed student’s session stands, or its mentor does not know; the student misses nothing', () => {
    const sessions = [{ ...session, isRemoved: true }];
    expect(tallied({ sessions }).lost).to.deep.equal(['s1 of a removed student stands']);
    const times = [time, { ...time, sequence: 1, status: 'canceled', at: minutes(-2) }];
    const canceled = { sessions: [{ ...session, isRemoved: true, status: 'canceled', sequence: 1 }], times };
    expect(tallied(canceled).othersMissing).to.deep.equal(['s1 mentorship_mentor_canceled 1']);
    const failed = mail('x', 'rating', { status: 'failed', email: '' });
    expect(tallied({ mails: [...right.mails, failed] })).to.deep.equal(nothing);
  });

  it('twice: two mails of one kind about one time; the same message again is a repetition', () => {
    const doubled = tallied({
      mails: [...right.mails, mail('h2', 'hour_before')],
      received: [...right.received, arrival('h2')],
    });
    expect(doubled).to.deep.equal({ ...nothing, twice: ['2 of s1 mentorship_hour_before 0'] });
    expect(tallied({ received: [...right.received, arrival('h')] })).to.deep.equal({ ...nothing, repeated: 1 });
  });

  it('in vain: a reminder of a time that had been left before it was due, however late it arrives', () => {
    const after = moved(1);
    const received = [...right.received, arrival('b1'), arrival('mb1')];
    const found = tallied({ ...after, mails: [...right.mails, ...toldOfMove], received });
    expect(found.spared).to.equal(1);
    expect(found.vain).to.deep.equal([`s1 mentorship_hour_before 0 at ${minutes(-4).toISOString()}`]);
    const justDue = tallied({ ...moved(-2), mails: [...right.mails, ...toldOfMove], received });
    expect(justDue).to.deep.equal({ ...nothing, reminders: 0 });
    const muchLater = [...received.filter(({ mailId }) => mailId !== 'h'), arrival('h', minutes(0))];
    expect(tallied({ ...moved(-2), mails: [...right.mails, ...toldOfMove], received: muchLater }).vain).to.have.length(
      1,
    );
  });

  it('in vain: a reminder that comes early, or of a session that was booked when it had been due', () => {
    const early = [...right.received.slice(0, 2), arrival('h', minutes(-6))];
    expect(tallied({ received: early }).vain).to.have.length(1);
    const late = tallied({ times: [{ ...time, bookedAt: minutes(-5) }] });
    expect(late.vain).to.deep.equal([`s1 mentorship_hour_before 0 at ${minutes(-4).toISOString()}`]);
  });

  it('a mail to an address that is refused for good is to fail, and never to arrive', () => {
    const email = 'ada@gone.example';
    const refused = right.mails.map((one) => ({ ...one, email, status: 'failed' }));
    expect(tallied({ mails: refused, received: [] })).to.deep.equal(nothing);
    expect(tallied({ mails: refused }).untrue).to.have.length(3);
    const open = refused.map((one) => ({ ...one, status: 'pending' }));
    expect(tallied({ mails: open, received: [] }).untrue).to.have.length(3);
  });

  it('a mail that is open, that was given up, or that has no row is untrue', () => {
    const as = (status: string) => tallied({ mails: [...right.mails, mail('x', 'rating', { status })] }).untrue;
    expect(as('pending')).to.have.length(1);
    expect(as('failed')).to.have.length(1);
    expect(as('canceled')).to.deep.equal([]);
    expect(tallied({ received: [...right.received, arrival('nobody')] }).untrue).to.deep.equal([
      'nobody arrived and has no row',
    ]);
  });

  it('counts a session as lost that is gone, differs from what its student was told, or was never told', () => {
    const [told] = right.told;
    if (!told) throw new Error('Nobody was told.');
    expect(tallied({ told: [{ ...told, startsAt: minutes(2_000) }] }).lost).to.have.length(1);
    expect(tallied({ told: [{ ...told, isCanceled: true }] }).lost).to.have.length(1);
    expect(tallied({ told: [told, { ...told, sessionId: 's9' }] }).lost).to.have.length(1);
    expect(tallied({ told: [] }).lost).to.deep.equal(['s1, of which nobody was told']);
  });
});
