/** Tests when the mails about a session are due (MENT-11), and the status of a session (MENT-9). */
import { expect } from 'chai';
import { cancelUntil, mailsNow, shownStatus } from '../../../domain/mentorships/sessions.policy.ts';

const at = (time: string) => new Date(`2026-03-${time}:00.000Z`);
const before = (time: Date) => new Date(time.getTime() - 1);

const session = {
  status: 'booked' as const,
  startsAt: at('10T09:00'),
  endsAt: at('10T10:00'),
  bookedAt: at('01T12:00'),
  canceledAt: null,
};

const dueTemplates = (one: Parameters<typeof mailsNow>[0], now: Date) => {
  const { due, next } = mailsNow(one, now);
  return {
    due: due.map(({ template }) => template.slice('mentorship_'.length)),
    next: next?.toISOString().slice(8, 16),
  };
};

describe('the rules of mentorship sessions', () => {
  it('remind exactly 24 h and 1 h before the beginning, and ask for a rating at the end (MENT-11)', () => {
    const confirmed = ['booked', 'mentor_booked'];
    expect(dueTemplates(session, session.bookedAt)).to.deep.equal({ due: confirmed, next: '09T09:00' });
    expect(dueTemplates(session, before(at('09T09:00'))).due).to.deep.equal(confirmed);
    expect(dueTemplates(session, at('09T09:00'))).to.deep.equal({
      due: [...confirmed, 'day_before'],
      next: '10T08:00',
    });
    expect(dueTemplates(session, before(at('10T08:00'))).due).to.not.include('hour_before');
    expect(dueTemplates(session, at('10T08:00')).due).to.include('hour_before');
    expect(dueTemplates(session, before(session.endsAt))).to.deep.equal({ due: [], next: '10T10:00' });
    expect(dueTemplates(session, session.endsAt)).to.deep.equal({ due: ['rating'], next: undefined });
  });

  it('send no reminder after the beginning, and no rating request after 30 days (MENT-11)', () => {
    expect(dueTemplates(session, before(session.startsAt)).due).to.have.length(4);
    expect(dueTemplates(session, session.startsAt).due).to.deep.equal([]);
    const closes = new Date(session.endsAt.getTime() + 30 * 86_400_000);
    expect(dueTemplates(session, before(closes)).due).to.deep.equal(['rating']);
    expect(dueTemplates(session, closes).due).to.deep.equal([]);
  });

  it('skip a reminder whose time had already passed at the booking (MENT-11)', () => {
    const late = { ...session, bookedAt: at('09T09:00') };
    expect(dueTemplates(late, at('10T08:30')).due).to.deep.equal(['booked', 'mentor_booked', 'hour_before']);
    const justInTime = { ...session, bookedAt: before(at('09T09:00')) };
    expect(dueTemplates(justInTime, at('09T09:00')).due).to.include('day_before');
  });

  it('send only cancellation mails for a canceled session (MENT-11)', () => {
    const canceled = { ...session, status: 'canceled' as const, canceledAt: at('05T12:00') };
    expect(dueTemplates(canceled, at('09T12:00'))).to.deep.equal({
      due: ['canceled', 'mentor_canceled'],
      next: undefined,
    });
    expect(dueTemplates(canceled, before(session.endsAt)).due).to.have.length(2);
    expect(dueTemplates(canceled, session.endsAt).due).to.deep.equal([]);
    const absent = { ...session, status: 'no_show' as const };
    expect(dueTemplates(absent, session.endsAt)).to.deep.equal({ due: [], next: undefined });
  });

  it('show a session as completed only if it is booked and has ended (MENT-9)', () => {
    expect(shownStatus(session, before(session.endsAt))).to.equal('booked');
    expect(shownStatus(session, session.endsAt)).to.equal('completed');
    for (const status of ['canceled', 'no_show'] as const)
      expect(shownStatus({ ...session, status }, session.endsAt)).to.equal(status);
  });

  it('let a student cancel until the cancellation deadline before the beginning (MENT-8)', () => {
    expect(cancelUntil(session.startsAt, 90)).to.deep.equal(at('10T07:30'));
  });
});
