/** Decides when the mails about a session are due (MENT-11), and which status callers see (MENT-9). */
import type { StoredSessionStatus } from '../../entities/mentorships/values.ts';
import type { MailTemplate } from '../../entities/mail/values.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export const sessionRules = {
  /** For this time after the end of a session, the student may rate the session. */
  ratedForMs: 30 * 24 * hourMs,
  /** The maximum time range for which one request may list slots. */
  slotsOverMs: 31 * 24 * hourMs,
  /** The maximum duration of a session (MENT-1). */
  longestMs: 240 * minuteMs,
} as const;

interface Session {
  status: StoredSessionStatus;
  startsAt: Date;
  endsAt: Date;
  bookedAt: Date;
  canceledAt: Date | null;
}

export type ShownStatus = 'booked' | 'canceled' | 'completed' | 'no_show';

/** @returns the status that callers see: a booked session is completed as soon as it has ended */
export function shownStatus({ status, endsAt }: Pick<Session, 'status' | 'endsAt'>, now: Date): ShownStatus {
  return status === 'booked' && endsAt <= now ? 'completed' : status;
}

export type SessionMail = Extract<MailTemplate, `mentorship_${string}`>;

/** Due at `at`, and requested only before `until`. */
export interface DueMail {
  template: SessionMail;
  at: Date;
  until: Date;
}

/**
 * The mails for the session's current time, in the order of their due times. A reminder is left out if it was already due at the booking,
 * because the confirmation is enough. The code that sends a mail checks again whether the mail is still valid.
 */
function mailsOf({ status, startsAt, endsAt, bookedAt, canceledAt }: Session): DueMail[] {
  if (status === 'canceled') {
    if (canceledAt === null) return [];
    return both('canceled', canceledAt, endsAt);
  }
  const before = (ms: number) => new Date(startsAt.getTime() - ms);
  const reminders: readonly DueMail[] = [
    { template: 'mentorship_day_before', at: before(24 * hourMs), until: startsAt },
    { template: 'mentorship_hour_before', at: before(hourMs), until: startsAt },
  ];
  const request: DueMail = {
    template: 'mentorship_rating',
    at: endsAt,
    until: new Date(endsAt.getTime() + sessionRules.ratedForMs),
  };
  return [
    ...both('booked', bookedAt, startsAt),
    ...reminders.filter(({ at }) => at > bookedAt),
    ...(status === 'booked' ? [request] : []),
  ];
}

const both = (what: 'booked' | 'canceled', at: Date, until: Date): DueMail[] => [
  { template: `mentorship_${what}`, at, until },
  { template: `mentorship_mentor_${what}`, at, until },
];

/** @returns `due` are the mails that must be requested now. `next` is the time of the next mail, or null */
export function mailsNow(session: Session, now: Date): { due: DueMail[]; next: Date | null } {
  const mails = mailsOf(session);
  const later = mails.filter(({ at }) => at > now).map(({ at }) => at.getTime());
  return {
    due: mails.filter(({ at, until }) => at <= now && now < until),
    next: later.length === 0 ? null : new Date(Math.min(...later)),
  };
}

/** @returns the last moment at which the student may cancel or move the session (MENT-8) */
export function cancelUntil(startsAt: Date, cancelDeadlineMinutes: number): Date {
  return new Date(startsAt.getTime() - cancelDeadlineMinutes * minuteMs);
}
