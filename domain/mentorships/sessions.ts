/** Lists and shows sessions, to administrators and to the students who booked them. */
import { Administrator } from '../../entities/identity/administrator.ts';
import { Student } from '../../entities/identity/student.ts';
import { Mentorship } from '../../entities/mentorships/mentorship.ts';
import { MentorshipSession } from '../../entities/mentorships/mentorship-session.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { ascending, newestFirst } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { preparedRows } from '../../platform/infra/postgres/prepared.ts';
import { all, columns, sql, type RowOf, type Sql } from '../../platform/infra/postgres/sql.ts';
import type { Reader } from '../identity/student-ref.ts';
import { countSessions } from './session-counts.ts';
import { cancelUntil, sessionRules, shownStatus, type ShownStatus } from './sessions.policy.ts';

const sessionColumns = columns(
  MentorshipSession,
  [
    'id',
    'mentorshipId',
    'mentorId',
    'studentId',
    'status',
    'startsAt',
    'endsAt',
    'agenda',
    'bookedAt',
    'canceledAt',
    'canceledBy',
    'cancelReason',
    'rating',
    'ratingComment',
    'ratedAt',
    'createdAt',
  ],
  'session',
)
  .and(
    columns(
      Mentorship,
      {
        publicId: 'publicId',
        title: 'title',
        meetingUrl: 'meetingUrl',
        cancelDeadlineMinutes: 'cancelDeadlineMinutes',
      },
      'mentorship',
    ),
  )
  .and(columns(Administrator, { mentorName: 'name' }, 'mentor'))
  .and(columns(Student, { studentName: 'name', studentEmail: 'email' }, 'student'));
type SessionRow = RowOf<typeof sessionColumns>;

const withAll = sql`FROM mentorship_sessions session
  JOIN mentorships mentorship ON mentorship.id = session.mentorship_id
  JOIN administrators mentor ON mentor.id = session.mentor_id
  JOIN students student ON student.id = session.student_id`;

export interface SessionFilter {
  status?: ShownStatus;
  mentorship_id?: Id;
  mentor_id?: Id;
  student_id?: Id;
  since?: string;
  until?: string;
}

/** @returns a page of the club's sessions, in the order in which they begin */
export async function listSessions(
  db: Queries,
  clubId: Id,
  filter: PageRequest & SessionFilter,
  now: Date,
): Promise<Page<RecordOf<'MentorshipSession'>>> {
  const filters = all([sql`session.club_id = ${clubId}`, ...conditionsOf(filter, now)]);
  const ofOne = filter.mentorship_id ?? filter.mentor_id ?? filter.student_id;
  const times = { status: filter.status, since: timeOf(filter.since), until: timeOf(filter.until) };
  const { rows, total, next } = await listPage(db, filter, {
    columns: sessionColumns,
    from: sql`${withAll} WHERE ${filters}`,
    orderBy: [ascending('session.starts_at', 'timestamptz'), ascending('session.id', 'uuid')],
    changedAt: 'session.changed_at',
    // One mentorship, mentor or student has few sessions, so the query counts their rows instead of reading tallies.
    ...(ofOne === undefined
      ? { total: () => countSessions(db, clubId, times, filters, now) }
      : { counted: sql`FROM mentorship_sessions session WHERE ${filters}` }),
  });
  return { rows: rows.map((row) => presentSession(row, now)), total, next };
}

/** @throws DomainError not_found (also for a session of another club) */
export async function findSession(
  db: Queries,
  clubId: Id,
  sessionId: Id,
  now: Date,
): Promise<RecordOf<'MentorshipSession'>> {
  const row = await db.one<SessionRow>(
    sql`SELECT ${sessionColumns} ${withAll} WHERE session.id = ${sessionId} AND session.club_id = ${clubId}`,
  );
  if (!row) throw notFound('session');
  return presentSession(row, now);
}

/**
 * @returns a page of the student's sessions, the latest first, including sessions of mentorships that are not open to the student any more
 */
export async function listOwnSessions(
  db: Queries,
  student: Reader,
  filter: PageRequest & Pick<SessionFilter, 'status'>,
  now: Date,
): Promise<Page<RecordOf<'OwnMentorshipSession'>>> {
  const filters = all([sql`session.student_id = ${student.id}`, ...conditionsOf(filter, now)]);
  const { rows, total, next } = await listPage(db, filter, {
    columns: sessionColumns,
    from: sql`${withAll} WHERE ${filters}`,
    counted: sql`FROM mentorship_sessions session WHERE ${filters}`,
    orderBy: newestFirst('session', 'starts_at'),
  });
  return { rows: rows.map((row) => presentOwn(row, now)), total, next };
}

/** Identifies a session by its mentorship and its id, as in a student's request. */
export interface NamedSession {
  publicId: string;
  sessionId: Id;
}

/** @throws DomainError not_found (also for a session of another student or of another mentorship) */
export async function findOwnSession(
  db: Queries,
  student: Reader,
  { publicId, sessionId }: NamedSession,
  now: Date,
): Promise<RecordOf<'OwnMentorshipSession'>> {
  const [row] = await preparedRows<SessionRow>(
    'find_own_session',
    db,
    sql`SELECT ${sessionColumns} ${withAll}
         WHERE session.id = ${sessionId} AND session.student_id = ${student.id} AND session.club_id = ${student.clubId}
           AND mentorship.public_id = ${publicId}`,
  );
  if (!row) throw notFound('session');
  return presentOwn(row, now);
}

/** No session is longer than `longestMs`. So each condition also limits when sessions begin, and Postgres can use an index. */
const byStatus: Readonly<Record<ShownStatus, (now: Date) => Sql>> = {
  booked: (now) => sql`session.status = 'booked' AND session.ends_at > ${now}
    AND session.starts_at > ${new Date(now.getTime() - sessionRules.longestMs)}`,
  completed: (now) => sql`session.status = 'booked' AND session.ends_at <= ${now} AND session.starts_at < ${now}`,
  canceled: () => sql`session.status = 'canceled'`,
  no_show: () => sql`session.status = 'no_show'`,
};

const timeOf = (text: string | undefined): Date | undefined => (text === undefined ? undefined : new Date(text));

function conditionsOf(filter: SessionFilter, now: Date): (Sql | undefined)[] {
  return [
    filter.status === undefined ? undefined : byStatus[filter.status](now),
    filter.mentorship_id === undefined ? undefined : sql`session.mentorship_id = ${filter.mentorship_id}`,
    filter.mentor_id === undefined ? undefined : sql`session.mentor_id = ${filter.mentor_id}`,
    filter.student_id === undefined ? undefined : sql`session.student_id = ${filter.student_id}`,
    filter.since === undefined ? undefined : sql`session.starts_at >= ${timeOf(filter.since)}`,
    filter.until === undefined ? undefined : sql`session.starts_at < ${timeOf(filter.until)}`,
  ];
}

const presentCommon = (row: SessionRow, now: Date) => ({
  id: row.id,
  status: shownStatus(row, now),
  starts_at: row.startsAt.toISOString(),
  ends_at: row.endsAt.toISOString(),
  ...(row.agenda !== '' && { agenda: row.agenda }),
  ...(row.canceledAt !== null && { canceled_at: row.canceledAt.toISOString() }),
  ...(row.canceledBy !== null && { canceled_by: row.canceledBy }),
  ...(row.cancelReason !== '' && { cancel_reason: row.cancelReason }),
  ...(row.rating !== null && { rating: row.rating }),
  ...(row.ratingComment !== '' && { rating_comment: row.ratingComment }),
  ...(row.ratedAt !== null && { rated_at: row.ratedAt.toISOString() }),
  booked_at: row.bookedAt.toISOString(),
  created_at: row.createdAt.toISOString(),
});

function presentSession(row: SessionRow, now: Date): RecordOf<'MentorshipSession'> {
  return {
    ...presentCommon(row, now),
    mentorship: { id: row.mentorshipId, title: row.title },
    mentor: { administrator_id: row.mentorId, name: row.mentorName },
    ...(row.studentEmail !== null && {
      student: { id: row.studentId, name: row.studentName, email: row.studentEmail },
    }),
  };
}

function presentOwn(row: SessionRow, now: Date): RecordOf<'OwnMentorshipSession'> {
  const common = presentCommon(row, now);
  const isToCome = common.status === 'booked';
  return {
    ...common,
    mentorship: { public_id: row.publicId, title: row.title },
    mentor_name: row.mentorName,
    ...(isToCome && { cancel_until: cancelUntil(row.startsAt, row.cancelDeadlineMinutes).toISOString() }),
    ...(isToCome && row.meetingUrl !== null && { meeting_url: row.meetingUrl }),
  };
}
