/** Creates, lists, reads and changes the mentorships of a club, for administrators. */
import { Administrator } from '../../entities/identity/administrator.ts';
import { Mentorship } from '../../entities/mentorships/mentorship.ts';
import { MentorshipDelivery } from '../../entities/mentorships/mentorship-delivery.ts';
import type { MentorshipStatus } from '../../entities/mentorships/values.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { tidyName } from '../../platform/core/text/text.policy.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { newestFirst } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { insertWithPublicId, refusalOf } from '../../platform/infra/postgres/public-ids.ts';
import { all, columns, given, sql, type RowOf } from '../../platform/infra/postgres/sql.ts';
import { requireFeature } from '../billing/allowances.ts';
import { requireTimeZone } from '../clubs/settings.ts';
import type { DatabaseDeps } from '../deps.ts';
import { faultOfHours } from './slots.policy.ts';

type MentorshipRecord = RecordOf<'Mentorship'>;

const columnsWithoutExceptions = columns(
  Mentorship,
  [
    'id',
    'publicId',
    'title',
    'description',
    'status',
    'mentorId',
    'durationMinutes',
    'bufferMinutes',
    'timeZone',
    'weeklyHours',
    'noticeMinutes',
    'horizonDays',
    'maxUpcoming',
    'cancelDeadlineMinutes',
    'meetingUrl',
    'createdAt',
    'updatedAt',
    'publishedAt',
  ],
  'mentorship',
)
  .and(columns(Administrator, { mentorName: 'name' }, 'mentor'))
  .and<{ deliveryIds: Id[] }>(
    sql`ARRAY(SELECT delivery_id FROM mentorship_deliveries WHERE mentorship_id = mentorship.id ORDER BY delivery_id) AS "deliveryIds"`,
  );
const mentorshipColumns = columnsWithoutExceptions.and(columns(Mentorship, ['exceptions'], 'mentorship'));
/** The columns of a mentorship in a list. They contain only the first ten exceptions, and the number of all exceptions. */
const listedColumns = columnsWithoutExceptions.and<Pick<Mentorship, 'exceptions'> & { exceptionCount: number }>(
  sql`jsonb_path_query_array(mentorship.exceptions, '$[0 to 9]') AS exceptions,
      jsonb_array_length(mentorship.exceptions) AS "exceptionCount"`,
);
type MentorshipRow = RowOf<typeof mentorshipColumns>;

const withMentor = sql`FROM mentorships mentorship JOIN administrators mentor ON mentor.id = mentorship.mentor_id`;

export const maxMentorships = 500;

/** The values of fields that the caller leaves out. */
const defaults = {
  bufferMinutes: 0,
  noticeMinutes: 24 * 60,
  horizonDays: 30,
  maxUpcoming: 1,
  cancelDeadlineMinutes: 24 * 60,
} as const;

/** @returns a page of the club's mentorships, newest first */
export async function listMentorships(
  db: Queries,
  clubId: Id,
  filter: PageRequest & { status?: MentorshipStatus },
): Promise<Page<MentorshipRecord>> {
  const { rows, total, next } = await listPage(db, filter, {
    columns: listedColumns,
    from: sql`${withMentor} WHERE ${all([
      sql`mentorship.club_id = ${clubId}`,
      filter.status === undefined ? undefined : sql`mentorship.status = ${filter.status}`,
    ])}`,
    changedAt: 'mentorship.changed_at',
    orderBy: newestFirst('mentorship'),
  });
  return {
    rows: rows.map(({ exceptionCount, ...row }) => ({ ...presentMentorship(row), exception_count: exceptionCount })),
    total,
    next,
  };
}

/** @throws DomainError not_found (also for a mentorship of another club) */
export async function findMentorship(db: Queries, clubId: Id, mentorshipId: Id): Promise<MentorshipRecord> {
  const row = await db.one<MentorshipRow>(
    sql`SELECT ${mentorshipColumns} ${withMentor} WHERE mentorship.id = ${mentorshipId} AND mentorship.club_id = ${clubId}`,
  );
  if (!row) throw notFound('mentorship');
  return presentMentorship(row);
}

/**
 * Creates a draft.
 * @throws DomainError not_found (no such mentor or delivery), feature_not_in_plan, mentorship_limit_reached, public_id_taken,
 *   invalid_request (the time zone or the hours are invalid)
 */
export async function createMentorship(
  { db }: DatabaseDeps,
  clubId: Id,
  input: RecordOf<'MentorshipCreation'>,
  now: Date,
): Promise<MentorshipRecord> {
  const id = newId();
  const hours = { weeklyHours: input.weekly_hours, exceptions: input.exceptions ?? [] };
  return db.transaction(async (tx) => {
    await requireFeature(tx, clubId, 'community');
    await requireMember(tx, clubId, input.mentor_id);
    requireTimeZone(input.time_zone);
    requireSense(hours);
    await requireRoomForMentorship(tx, clubId);
    await insertWithPublicId('mentorship', input, async (publicId) => {
      const rows = await tx.rows(sql`INSERT INTO mentorships
          (id, club_id, public_id, title, description, status, mentor_id, duration_minutes, buffer_minutes, time_zone, weekly_hours, exceptions,
           notice_minutes, horizon_days, max_upcoming, cancel_deadline_minutes, meeting_url, created_at, updated_at)
        VALUES (${id}, ${clubId}, ${publicId}, ${tidyName(input.title)}, ${input.description ?? ''}, 'draft', ${input.mentor_id}, ${input.duration_minutes},
           ${input.buffer_minutes ?? defaults.bufferMinutes}, ${input.time_zone}, ${JSON.stringify(hours.weeklyHours)}, ${JSON.stringify(hours.exceptions)},
           ${input.notice_minutes ?? defaults.noticeMinutes}, ${input.horizon_days ?? defaults.horizonDays}, ${input.max_upcoming ?? defaults.maxUpcoming},
           ${input.cancel_deadline_minutes ?? defaults.cancelDeadlineMinutes}, nullif(${input.meeting_url ?? ''}, ''), ${now}, ${now})
        ON CONFLICT (club_id, public_id) DO NOTHING RETURNING 1`);
      return rows.length > 0;
    });
    await setDeliveries(tx, clubId, id, input.delivery_ids ?? []);
    return findMentorship(tx, clubId, id);
  });
}

/**
 * Changes the fields that are present. Sessions that are already booked do not change (MENT-7).
 * @param input.meeting_url the new address. An empty text removes the address
 * @throws DomainError not_found (no such mentorship, mentor or delivery), feature_not_in_plan (only if the mentorship is published),
 *   public_id_taken, invalid_request
 */
export async function updateMentorship(
  { db }: DatabaseDeps,
  clubId: Id,
  mentorshipId: Id,
  input: RecordOf<'MentorshipChange'>,
  now: Date,
): Promise<MentorshipRecord> {
  return db.transaction(async (tx) => {
    const before = await lockMentorship(tx, clubId, mentorshipId);
    const publishes = input.status === 'published' && before.status !== 'published';
    if (publishes) await requireFeature(tx, clubId, 'community');
    if (input.mentor_id !== undefined) await requireMember(tx, clubId, input.mentor_id);
    if (input.time_zone !== undefined) requireTimeZone(input.time_zone);
    requireSense({
      weeklyHours: input.weekly_hours ?? before.weeklyHours,
      exceptions: input.exceptions ?? before.exceptions,
    });
    const change = given({
      title: input.title === undefined ? undefined : tidyName(input.title),
      description: input.description,
      publicId: input.public_id,
      status: input.status,
      mentorId: input.mentor_id,
      durationMinutes: input.duration_minutes,
      bufferMinutes: input.buffer_minutes,
      timeZone: input.time_zone,
      weeklyHours: input.weekly_hours,
      exceptions: input.exceptions,
      noticeMinutes: input.notice_minutes,
      horizonDays: input.horizon_days,
      maxUpcoming: input.max_upcoming,
      cancelDeadlineMinutes: input.cancel_deadline_minutes,
      meetingUrl: input.meeting_url === '' ? null : input.meeting_url,
      publishedAt: publishes ? now : undefined,
      updatedAt: now,
    });
    await tx.manager.update(Mentorship, { id: mentorshipId }, change).catch((error: unknown) => {
      throw refusalOf(error, 'mentorship');
    });
    if (input.delivery_ids) await setDeliveries(tx, clubId, mentorshipId, input.delivery_ids);
    return findMentorship(tx, clubId, mentorshipId);
  });
}

/**
 * The lock prevents two concurrent creations from both passing the limit.
 * @throws DomainError mentorship_limit_reached
 */
async function requireRoomForMentorship(tx: Transaction, clubId: Id): Promise<void> {
  await tx.run(sql`SELECT FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE`);
  if ((await tx.manager.countBy(Mentorship, { clubId })) >= maxMentorships)
    throw new DomainError(
      'mentorship_limit_reached',
      `The club has reached its limit of ${maxMentorships} mentorships.`,
    );
}

async function lockMentorship(
  tx: Transaction,
  clubId: Id,
  id: Id,
): Promise<Pick<Mentorship, 'status' | 'weeklyHours' | 'exceptions'>> {
  const mentorship = await tx.one<Pick<Mentorship, 'status' | 'weeklyHours' | 'exceptions'>>(
    sql`SELECT ${columns(Mentorship, ['status', 'weeklyHours', 'exceptions'])} FROM mentorships
         WHERE id = ${id} AND club_id = ${clubId} FOR NO KEY UPDATE`,
  );
  if (!mentorship) throw notFound('mentorship');
  return mentorship;
}

/** @throws DomainError not_found */
async function requireMember(tx: Transaction, clubId: Id, administratorId: Id): Promise<void> {
  const member = await tx.one(
    sql`SELECT FROM memberships WHERE club_id = ${clubId} AND administrator_id = ${administratorId}`,
  );
  if (!member) throw notFound('member');
}

/** @throws DomainError invalid_request */
function requireSense(hours: Pick<Mentorship, 'weeklyHours' | 'exceptions'>): void {
  const fault = faultOfHours(hours);
  if (fault !== undefined) throw new DomainError('invalid_request', fault);
}

/**
 * Deliveries are archived and never deleted. So a mentorship cannot lose its last delivery by accident. This matters because a mentorship
 * without deliveries is open to all students.
 * @throws DomainError not_found
 */
async function setDeliveries(tx: Transaction, clubId: Id, mentorshipId: Id, deliveryIds: readonly Id[]): Promise<void> {
  const uniqueIds = [...new Set(deliveryIds.map((id) => id.toLowerCase()))];
  const deliveries = await tx.rows(
    sql`SELECT FROM access_deliveries WHERE club_id = ${clubId} AND id = ANY (${uniqueIds}::uuid[])`,
  );
  if (deliveries.length < uniqueIds.length) throw notFound('delivery');
  await tx.manager.delete(MentorshipDelivery, { mentorshipId });
  await tx.run(sql`INSERT INTO mentorship_deliveries (mentorship_id, delivery_id)
    SELECT ${mentorshipId}, delivery_id FROM unnest(${uniqueIds}::uuid[]) AS delivery_id`);
}

function presentMentorship(row: MentorshipRow): MentorshipRecord {
  return {
    id: row.id,
    public_id: row.publicId,
    title: row.title,
    description: row.description,
    status: row.status,
    mentor: { administrator_id: row.mentorId, name: row.mentorName },
    delivery_ids: row.deliveryIds,
    duration_minutes: row.durationMinutes,
    buffer_minutes: row.bufferMinutes,
    time_zone: row.timeZone,
    weekly_hours: row.weeklyHours.map(({ weekday, from, to }) => ({ weekday, from, to })),
    exceptions: row.exceptions.map(({ date, hours }) => ({ date, hours: hours.map(({ from, to }) => ({ from, to })) })),
    notice_minutes: row.noticeMinutes,
    horizon_days: row.horizonDays,
    max_upcoming: row.maxUpcoming,
    cancel_deadline_minutes: row.cancelDeadlineMinutes,
    ...(row.meetingUrl !== null && { meeting_url: row.meetingUrl }),
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
    ...(row.publishedAt !== null && { published_at: row.publishedAt.toISOString() }),
  };
}
