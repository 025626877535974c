/**
 * The mails about a session of a mentorship. The service writes the content of a mail when it claims the mail for sending. So no mail names
 * a time that the session no longer has (MENT-11).
 */
import { Mentorship } from '../../entities/mentorships/mentorship.ts';
import { MentorshipSession } from '../../entities/mentorships/mentorship-session.ts';
import type { CalendarEvent } from '../../platform/core/time/calendar.policy.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf } from '../../platform/infra/postgres/sql.ts';
import type { MailKind, MailKinds, MailRow } from '../mail/kinds.ts';

interface SessionMail {
  /**
   * The state of the session in which the mail may be sent. A mail for `moved away` goes to the former mentor, and is sent only before the
   * former end of the session. A mail for `ended` asks the student for a rating, if the student has not rated the session yet.
   */
  sentWhile: 'to come' | 'canceled' | 'ended' | 'moved away';
  /** A mail to the mentor names the student, and is sent only while the recipient is a member of the club. */
  toMentor?: true;
  /** Whether the mail contains a calendar entry for the session. */
  calendar?: CalendarEvent['method'];
}

const sessionColumns = columns(
  MentorshipSession,
  ['id', 'status', 'startsAt', 'endsAt', 'cancelReason', 'rating'],
  'session',
)
  .and(columns(Mentorship, ['title', 'timeZone', 'meetingUrl'], 'mentorship'))
  .and<{
    /** The name of the mentor. Null after the mentor erased the account. */
    mentorName: string | null;
    /** The name of the student. Null after the student was removed. */
    studentName: string | null;
  }>(sql`mentor.name AS "mentorName", attendee.name AS "studentName"`);

interface SessionRow extends RowOf<typeof sessionColumns> {
  /** Whether the recipient is the session's mentor now. */
  isMentor: boolean;
  /** Whether the recipient is an administrator of the club. */
  isMember: boolean;
}

/**
 * @returns the session. For a mail about a former time, this is always the session. For any other mail, it is undefined if the session has
 * moved since the mail was requested
 */
function readSession(
  db: Queries,
  { sessionId, sessionSequence, formerStartsAt, administratorId }: MailRow,
): Promise<SessionRow | undefined> {
  return db.one<SessionRow>(sql`
    SELECT ${sessionColumns}, coalesce(session.mentor_id = ${administratorId}, false) AS "isMentor",
           EXISTS (SELECT FROM memberships WHERE club_id = session.club_id AND administrator_id = ${administratorId}) AS "isMember"
      FROM mentorship_sessions session
      JOIN mentorships mentorship ON mentorship.id = session.mentorship_id
      LEFT JOIN administrators mentor ON mentor.id = session.mentor_id AND mentor.removed_at IS NULL
      LEFT JOIN students attendee ON attendee.id = session.student_id AND attendee.removed_at IS NULL
     WHERE session.id = ${sessionId} AND (session.sequence = ${sessionSequence} OR ${formerStartsAt !== null})`);
}

const aboutSession =
  (kind: SessionMail): MailKind =>
  async (db, mail, now) => {
    const session = await readSession(db, mail);
    const { sessionSequence: sequence } = mail;
    if (!session || sequence === null || (kind.toMentor && !session.isMember)) return undefined;
    const { id, title, timeZone, meetingUrl } = session;
    const startsAt = mail.formerStartsAt ?? session.startsAt;
    const endsAt = mail.formerEndsAt ?? session.endsAt;
    if (!isWanted(kind.sentWhile, { ...session, startsAt, endsAt }, now)) return undefined;
    const location = kind.calendar === 'REQUEST' && meetingUrl !== null ? { location: meetingUrl } : {};
    return {
      id,
      session: {
        title,
        startsAt,
        timeZone,
        withWhom: kind.toMentor ? session.studentName : session.mentorName,
        reason: session.cancelReason,
      },
      ...(kind.calendar && {
        calendar: { method: kind.calendar, id, sequence, startsAt, endsAt, summary: title, ...location },
      }),
    };
  };

function isWanted(
  sentWhile: SessionMail['sentWhile'],
  { status, startsAt, endsAt, rating, isMentor }: SessionRow,
  now: Date,
): boolean {
  if (sentWhile === 'moved away') return !isMentor && endsAt > now;
  if (sentWhile === 'canceled') return status === 'canceled';
  if (status !== 'booked') return false;
  return sentWhile === 'to come' ? startsAt > now : rating === null;
}

export const mentorshipMails = {
  mentorship_booked: aboutSession({ sentWhile: 'to come', calendar: 'REQUEST' }),
  mentorship_canceled: aboutSession({ sentWhile: 'canceled', calendar: 'CANCEL' }),
  mentorship_day_before: aboutSession({ sentWhile: 'to come' }),
  mentorship_hour_before: aboutSession({ sentWhile: 'to come' }),
  mentorship_rating: aboutSession({ sentWhile: 'ended' }),
  mentorship_mentor_booked: aboutSession({ sentWhile: 'to come', toMentor: true, calendar: 'REQUEST' }),
  mentorship_mentor_canceled: aboutSession({ sentWhile: 'canceled', toMentor: true, calendar: 'CANCEL' }),
  mentorship_mentor_replaced: aboutSession({ sentWhile: 'moved away', toMentor: true, calendar: 'CANCEL' }),
} as const satisfies MailKinds;
