/** Mentorships as students see them: the published mentorships to which they have access, and the times at which sessions may begin. */
import { Administrator } from '../../entities/identity/administrator.ts';
import { Mentorship } from '../../entities/mentorships/mentorship.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { newestFirst } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { preparedRows } from '../../platform/infra/postgres/prepared.ts';
import { columns, sql, type RowOf, type Sql } from '../../platform/infra/postgres/sql.ts';
import { hasAccessToDelivery } from '../access/enrollments/entitlement.ts';
import { hasFeature } from '../billing/allowances.ts';
import type { Reader } from '../identity/student-ref.ts';
import { sessionRules } from './sessions.policy.ts';
import { bookableTimes, slotsBetween } from './slots.policy.ts';

const seenColumns = columns(
  Mentorship,
  [
    'id',
    'publicId',
    'title',
    'description',
    'mentorId',
    'durationMinutes',
    'bufferMinutes',
    'timeZone',
    'weeklyHours',
    'exceptions',
    'noticeMinutes',
    'horizonDays',
    'maxUpcoming',
    'cancelDeadlineMinutes',
  ],
  'mentorship',
).and(columns(Administrator, { mentorName: 'name' }, 'mentor'));
export type SeenMentorship = RowOf<typeof seenColumns>;

const withMentor = sql`FROM mentorships mentorship JOIN administrators mentor ON mentor.id = mentorship.mentor_id`;

/**
 * A condition on `mentorship`. The mentorship must be published. If the mentorship has deliveries, the student must have access to one of
 * them.
 */
function isOpenTo(student: Reader, now: Date): Sql {
  const opens = sql`SELECT FROM mentorship_deliveries opened WHERE opened.mentorship_id = mentorship.id`;
  return sql`mentorship.club_id = ${student.clubId} AND mentorship.status = 'published'
    AND (NOT EXISTS (${opens}) OR EXISTS (${opens} AND ${hasAccessToDelivery(sql`opened.delivery_id`, sql`${student.id}`, now)}))`;
}

/** @returns a page of the mentorships that are open to the student, newest first */
export async function listOpenMentorships(
  db: Queries,
  student: Reader,
  page: PageRequest,
  now: Date,
): Promise<Page<RecordOf<'ClassroomMentorship'>>> {
  const { rows, total, next } = await listPage(db, page, {
    columns: seenColumns,
    from: sql`${withMentor} WHERE ${isOpenTo(student, now)}`,
    orderBy: newestFirst('mentorship'),
  });
  return { rows: rows.map(presentSeen), total, next };
}

/** @throws DomainError not_found (also if the mentorship is not open to the student) */
export async function readOpenMentorship(
  db: Queries,
  student: Reader,
  publicId: string,
  now: Date,
): Promise<RecordOf<'ClassroomMentorship'>> {
  return presentSeen(await findOpenMentorship(db, student, publicId, now));
}

/** @throws DomainError not_found (also if the mentorship is not open to the student) */
async function findOpenMentorship(db: Queries, student: Reader, publicId: string, now: Date): Promise<SeenMentorship> {
  return requireFirst(
    await preparedRows<SeenMentorship>('find_open_mentorship', db, openMentorship(student, publicId, now)),
  );
}

/** Locks the mentorship. @throws DomainError not_found (also if the mentorship is not open to the student) */
export async function lockOpenMentorship(
  tx: Transaction,
  student: Reader,
  publicId: string,
  now: Date,
): Promise<SeenMentorship> {
  const locking = sql`${openMentorship(student, publicId, now)} FOR NO KEY UPDATE OF mentorship`;
  const lock = () => preparedRows<SeenMentorship>('lock_open_mentorship', tx, locking);
  const locked = await lock();
  // Another transaction may have changed the mentor or the deliveries before the lock. The second statement sees the change.
  return requireFirst(locked.length > 0 ? locked : await lock());
}

const openMentorship = (student: Reader, publicId: string, now: Date) =>
  sql`SELECT ${seenColumns} ${withMentor} WHERE ${isOpenTo(student, now)} AND mentorship.public_id = ${publicId}`;

function requireFirst([mentorship]: readonly SeenMentorship[]): SeenMentorship {
  if (!mentorship) throw notFound('mentorship');
  return mentorship;
}

/**
 * Lists the sessions that the student may book. The list is empty if the club's plan no longer includes the community, or if the mentor has
 * left the club.
 * @param input.since the beginning of the time range; now if absent
 * @param input.until the end of the time range; 31 days after `since` if absent
 * @param input.replaces the id of the student's session in this mentorship, if the student wants to move a session. The time of this
 * session counts as free. An id of a different session is ignored
 * @throws DomainError not_found; invalid_request if `until` is not after `since`, or more than 31 days later
 */
export async function listSlots(
  db: Queries,
  student: Reader,
  publicId: string,
  input: { since?: string; until?: string; replaces?: Id },
  now: Date,
): Promise<RecordOf<'MentorshipSlots'>> {
  const mentorship = await findOpenMentorship(db, student, publicId, now);
  const from = input.since === undefined ? now : new Date(input.since);
  const to = input.until === undefined ? new Date(from.getTime() + sessionRules.slotsOverMs) : new Date(input.until);
  const over = to.getTime() - from.getTime();
  if (over <= 0 || over > sessionRules.slotsOverMs)
    throw new DomainError('invalid_request', 'until must be after since, and at most 31 days later.');
  const { first, last } = bookableTimes(mentorship, now);
  const [earliest, latest] = [Math.max(from.getTime(), first.getTime()), Math.min(to.getTime(), last.getTime() + 1)];
  const isOffering =
    earliest < latest &&
    (await hasFeature(db, student.clubId, 'community')) &&
    (await hasMentor(db, student, mentorship));
  const starts = isOffering ? slotsBetween(mentorship, new Date(earliest), new Date(latest)) : [];
  const busyTimes =
    starts.length === 0
      ? []
      : await busyTimesOf(db, student, mentorship, { earliest, latest, replaces: input.replaces });
  const minutes = 60_000;
  const free = starts.filter((start) => {
    const begin = start.getTime();
    const end = begin + mentorship.durationMinutes * minutes;
    const freeAgain = end + mentorship.bufferMinutes * minutes;
    return !busyTimes.some(({ from: busy, until, isOwn }) => begin < until && busy < (isOwn ? end : freeAgain));
  });
  return {
    time_zone: mentorship.timeZone,
    slots: free.map((start) => ({
      starts_at: start.toISOString(),
      ends_at: new Date(start.getTime() + mentorship.durationMinutes * minutes).toISOString(),
    })),
  };
}

async function hasMentor(db: Queries, { clubId }: Reader, mentorship: SeenMentorship): Promise<boolean> {
  return (await db.rows(membershipOf(clubId, mentorship))).length > 0;
}

/** Locks the mentor's membership in the club. @returns whether the mentor is still a member of the club */
export async function lockMentor(tx: Transaction, { clubId }: Reader, mentorship: SeenMentorship): Promise<boolean> {
  const locking = sql`${membershipOf(clubId, mentorship)} FOR NO KEY UPDATE`;
  return (await preparedRows('lock_mentor', tx, locking)).length > 0;
}

const membershipOf = (clubId: Id, { mentorId }: SeenMentorship) =>
  sql`SELECT 1 FROM memberships WHERE club_id = ${clubId} AND administrator_id = ${mentorId}`;

/**
 * Reads the times of the mentor's sessions, in every mentorship and club, and the times of the student's sessions. The time of a mentor's
 * session includes its buffer. All times are Unix milliseconds. The result omits the session that the student wants to move.
 */
async function busyTimesOf(
  db: Queries,
  student: Reader,
  { id, mentorId, durationMinutes, bufferMinutes }: SeenMentorship,
  { earliest, latest, replaces }: { earliest: number; latest: number; replaces: Id | undefined },
): Promise<{ from: number; until: number; isOwn: boolean }[]> {
  const [from, to] = [new Date(earliest), new Date(latest + (durationMinutes + bufferMinutes) * 60_000)];
  const isReplaced = replaces
    ? sql`id = ${replaces} AND student_id = ${student.id} AND mentorship_id = ${id}`
    : sql`false`;
  // These conditions match the exclusion constraints, so that this statement can use the indexes of the constraints.
  const rows = await db.rows<{ from: Date; until: Date; isOwn: boolean }>(sql`
    SELECT starts_at AS "from", busy_until AS until, false AS "isOwn" FROM mentorship_sessions
     WHERE mentor_id = ${mentorId} AND tstzrange(starts_at, busy_until) && tstzrange(${from}, ${to}) AND status <> 'canceled'
       AND NOT (${isReplaced})
    UNION ALL
    SELECT starts_at, ends_at, true FROM mentorship_sessions
     WHERE student_id = ${student.id} AND tstzrange(starts_at, ends_at) && tstzrange(${from}, ${to}) AND status <> 'canceled'
       AND NOT (${isReplaced})`);
  return rows.map((row) => ({ from: row.from.getTime(), until: row.until.getTime(), isOwn: row.isOwn }));
}

function presentSeen(row: SeenMentorship): RecordOf<'ClassroomMentorship'> {
  return {
    public_id: row.publicId,
    title: row.title,
    description: row.description,
    mentor_name: row.mentorName,
    duration_minutes: row.durationMinutes,
    time_zone: row.timeZone,
    notice_minutes: row.noticeMinutes,
    horizon_days: row.horizonDays,
    max_upcoming: row.maxUpcoming,
    cancel_deadline_minutes: row.cancelDeadlineMinutes,
  };
}
