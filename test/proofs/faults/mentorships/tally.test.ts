/** Tests that the final check of `faults mentorships` finds deliberate errors. */
import { expect } from 'chai';
import { tallySessions, type Evidence, type SessionRow, type SessionTally } from './tally.ts';

const now = new Date('2026-03-02T12:00:00Z');
const minutes = (count: number) => new Date(now.getTime() + count * 60_000);

/** A session that begins in 55 minutes and was booked 10 minutes ago. Its reminder was due 5 minutes ago. */
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
  toldSessions: [{ sessionId: 's1', startsAt: minutes(55), isCanceled: false }],
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
  lostSessions: [],
};
const tallied = (more: Partial<Evidence>) => tallySessions({ ...right, ...more });
const beside = (more: Partial<SessionRow>): Partial<Evidence> => ({
  sessions: [session, { ...session, id: 's2', ...more }],
  toldSessions: [
    ...right.toldSessions,
    { sessionId: 's2', startsAt: more.startsAt ?? session.startsAt, isCanceled: false },
  ],
});
/** The session was moved to the next day, `inMinutes` before its reminder was due. */
const moved = (inMinutes: number): Partial<Evidence> => {
  const at = minutes(-5 - inMinutes);
  const later = { startsAt: minutes(2_000), endsAt: minutes(2_015), busyUntil: minutes(2_020), sequence: 1 };
  return {
    sessions: [{ ...session, ...later }],
    times: [time, { ...time, sequence: 1, startsAt: minutes(2_000), bookedAt: at, at }],
    toldSessions: [{ sessionId: 's1', startsAt: minutes(2_000), isCanceled: false }],
  };
};
const mailsOfMove = [mail('b1', 'booked', { sequence: 1 }), mail('mb1', 'mentor_booked', { sequence: 1 })];

describe('the final check of the mentorship proof', () => {
  it('reports nothing if all sessions and mails are right', () => {
    expect(tallySessions(right)).to.deep.equal(nothing);
  });

  it('reports a session that begins in the pause after another session of the mentor', () => {
    const overlapsAt = (startsAt: Date) =>
      tallied(beside({ studentId: 'grace', startsAt, endsAt: minutes(200), busyUntil: minutes(205) })).doubleBooked;
    expect(overlapsAt(minutes(74))).to.deep.equal(['mentorId m1: s1 and s2']);
    expect(overlapsAt(minutes(75))).to.deep.equal([]);
    const canceled = beside({ studentId: 'grace', status: 'canceled' });
    expect(tallied(canceled).doubleBooked).to.deep.equal([]);
  });

  it('reports two sessions of a student only if the sessions themselves overlap', () => {
    const overlapsAt = (startsAt: Date) =>
      tallied(beside({ mentorId: 'm2', startsAt, endsAt: minutes(200), busyUntil: minutes(205) })).doubleBooked;
    expect(overlapsAt(minutes(69))).to.deep.equal(['studentId ada: s1 and s2']);
    expect(overlapsAt(minutes(70))).to.deep.equal([]);
  });

  it('reports a missing reminder if no mail exists or if the sent mail did not arrive', () => {
    const without = tallied({ mails: right.mails.slice(0, 2), received: right.received.slice(0, 2) });
    expect(without).to.deep.equal({ ...nothing, remindersMissing: ['s1 mentorship_hour_before 0'] });
    const unarrived = tallied({ received: right.received.slice(0, 2) });
    expect(unarrived.remindersMissing).to.deep.equal(['s1 mentorship_hour_before 0']);
    expect(unarrived.untrue).to.have.length(1);
  });

  it('expects no reminder that was due before the booking, and no reminder that is not due yet', () => {
    const two = { mails: right.mails.slice(0, 2), received: right.received.slice(0, 2) };
    expect(tallied({ ...two, times: [{ ...time, bookedAt: minutes(-5) }] })).to.deep.equal({
      ...nothing,
      reminders: 0,
    });
    expect(tallied({ ...two, judgedAt: minutes(-6) })).to.deep.equal({ ...nothing, reminders: 0 });
  });

  it('reports a missing confirmation and a missing cancellation', () => {
    expect(tallied({ mails: right.mails.slice(1), received: right.received.slice(1) }).othersMissing).to.deep.equal([
      's1 mentorship_booked 0',
    ]);
    const canceled = tallied({ times: [time, { ...time, sequence: 1, status: 'canceled', at: minutes(-2) }] });
    expect(canceled.othersMissing).to.deep.equal(['s1 mentorship_canceled 1', 's1 mentorship_mentor_canceled 1']);
  });

  it('expects that each session of a removed student is canceled, with a mail to the mentor', () => {
    const sessions = [{ ...session, isRemoved: true }];
    expect(tallied({ sessions }).lostSessions).to.deep.equal(['s1 of a removed student is not canceled']);
    const times = [time, { ...time, sequence: 1, status: 'canceled', at: minutes(-2) }];
    const canceled = { sessions: [{ ...session, isRemoved: true, status: 'canceled', sequence: 1 }], times };
    expect(tallied(canceled).othersMissing).to.deep.equal(['s1 mentorship_mentor_canceled 1']);
    const failed = mail('x', 'rating', { status: 'failed', email: '' });
    expect(tallied({ mails: [...right.mails, failed] })).to.deep.equal(nothing);
  });

  it('counts two mails about one time as duplicates, and a mail that arrives twice as repeated', () => {
    const doubled = tallied({
      mails: [...right.mails, mail('h2', 'hour_before')],
      received: [...right.received, arrival('h2')],
    });
    expect(doubled).to.deep.equal({ ...nothing, twice: ['2 of s1 mentorship_hour_before 0'] });
    expect(tallied({ received: [...right.received, arrival('h')] })).to.deep.equal({ ...nothing, repeated: 1 });
  });

  it('reports a reminder for the old time of a session that was moved earlier', () => {
    const after = moved(1);
    const received = [...right.received, arrival('b1'), arrival('mb1')];
    const wrongReminder = tallied({ ...after, mails: [...right.mails, ...mailsOfMove], received });
    expect(wrongReminder.spared).to.equal(1);
    expect(wrongReminder.vain).to.deep.equal([`s1 mentorship_hour_before 0 at ${minutes(-4).toISOString()}`]);
    const justDue = tallied({ ...moved(-2), mails: [...right.mails, ...mailsOfMove], received });
    expect(justDue).to.deep.equal({ ...nothing, reminders: 0 });
    const muchLater = [...received.filter(({ mailId }) => mailId !== 'h'), arrival('h', minutes(0))];
    expect(tallied({ ...moved(-2), mails: [...right.mails, ...mailsOfMove], received: muchLater }).vain).to.have.length(
      1,
    );
  });

  it('reports a reminder that arrives early, or that was due before the booking', () => {
    const early = [...right.received.slice(0, 2), arrival('h', minutes(-6))];
    expect(tallied({ received: early }).vain).to.have.length(1);
    const late = tallied({ times: [{ ...time, bookedAt: minutes(-5) }] });
    expect(late.vain).to.deep.equal([`s1 mentorship_hour_before 0 at ${minutes(-4).toISOString()}`]);
  });

  it('reports a mail to a refused address if the mail does not fail', () => {
    const email = 'ada@gone.example';
    const refused = right.mails.map((one) => ({ ...one, email, status: 'failed' }));
    expect(tallied({ mails: refused, received: [] })).to.deep.equal(nothing);
    expect(tallied({ mails: refused }).untrue).to.have.length(3);
    const open = refused.map((one) => ({ ...one, status: 'pending' }));
    expect(tallied({ mails: open, received: [] }).untrue).to.have.length(3);
  });

  it('reports a pending mail, a failed mail, and a mail without a row', () => {
    const as = (status: string) => tallied({ mails: [...right.mails, mail('x', 'rating', { status })] }).untrue;
    expect(as('pending')).to.have.length(1);
    expect(as('failed')).to.have.length(1);
    expect(as('canceled')).to.deep.equal([]);
    expect(tallied({ received: [...right.received, arrival('unknown')] }).untrue).to.deep.equal([
      'unknown arrived and has no row',
    ]);
  });

  it('counts a session as lost if it is missing or differs from the last answer of the API', () => {
    const [toldSession] = right.toldSessions;
    if (!toldSession) throw new Error('The evidence has no session');
    expect(tallied({ toldSessions: [{ ...toldSession, startsAt: minutes(2_000) }] }).lostSessions).to.have.length(1);
    expect(tallied({ toldSessions: [{ ...toldSession, isCanceled: true }] }).lostSessions).to.have.length(1);
    expect(tallied({ toldSessions: [toldSession, { ...toldSession, sessionId: 's9' }] }).lostSessions).to.have.length(
      1,
    );
    expect(tallied({ toldSessions: [] }).lostSessions).to.deep.equal(['s1, which no answer named']);
  });
});
