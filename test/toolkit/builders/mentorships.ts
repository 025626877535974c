/** Builds mentorships and their sessions. The builders insert only rows, and wake no run. */
import type {
  DatedHours,
  MentorshipStatus,
  StoredSessionStatus,
  WeeklyHours,
} from '../../../entities/mentorships/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';
import { buildMember } from './clubs.ts';

export const allWeek: readonly WeeklyHours[] = [1, 2, 3, 4, 5, 6, 7].map((weekday) => ({
  weekday,
  from: '00:00',
  to: '24:00',
}));

export interface MentorshipOptions {
  title?: string;
  mentorId?: Id;
  status?: MentorshipStatus;
  durationMinutes?: number;
  bufferMinutes?: number;
  timeZone?: string;
  weeklyHours?: readonly WeeklyHours[];
  exceptions?: readonly DatedHours[];
  noticeMinutes?: number;
  horizonDays?: number;
  maxUpcoming?: number;
  cancelDeadlineMinutes?: number;
  meetingUrl?: string | null;
  deliveryIds?: readonly Id[];
}

export interface TestMentorship {
  id: Id;
  publicId: string;
  mentorId: Id;
}

/**
 * A published mentorship of a new member. It has slots of 30 minutes, at each full and half hour in UTC. The mentorship has no notice
 * period and no
 * cancel deadline by default.
 */
export async function buildMentorship(clubId: Id, options: MentorshipOptions = {}): Promise<TestMentorship> {
  const source = await testDatabase();
  const [id, publicId] = [newId(), newId().slice(-12)];
  const mentorId = options.mentorId ?? (await buildMember(clubId, 'support')).id;
  await source.query(
    `INSERT INTO mentorships
       (id, club_id, public_id, title, status, mentor_id, duration_minutes, buffer_minutes, time_zone, weekly_hours, exceptions, notice_minutes,
        horizon_days, max_upcoming, cancel_deadline_minutes, meeting_url, created_at, updated_at, published_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, now(), now(), now())`,
    [
      id,
      clubId,
      publicId,
      options.title ?? 'Rigging clinic',
      options.status ?? 'published',
      mentorId,
      options.durationMinutes ?? 30,
      options.bufferMinutes ?? 0,
      options.timeZone ?? 'UTC',
      JSON.stringify(options.weeklyHours ?? allWeek),
      JSON.stringify(options.exceptions ?? []),
      options.noticeMinutes ?? 0,
      options.horizonDays ?? 30,
      options.maxUpcoming ?? 1,
      options.cancelDeadlineMinutes ?? 0,
      options.meetingUrl ?? null,
    ],
  );
  await source.query(`INSERT INTO mentorship_deliveries SELECT $1, delivery FROM unnest($2::uuid[]) AS delivery`, [
    id,
    options.deliveryIds ?? [],
  ]);
  return { id, publicId, mentorId };
}

/** A session of the usual length between the student and the mentor of the mentorship. */
export async function buildSession(
  mentorshipId: Id,
  studentId: Id,
  {
    startsAt,
    status = 'booked',
    bookedAt = new Date(),
  }: { startsAt: Date; status?: StoredSessionStatus; bookedAt?: Date },
): Promise<{ id: Id }> {
  const id = newId();
  await (
    await testDatabase()
  ).query(
    `INSERT INTO mentorship_sessions
       (id, club_id, mentorship_id, mentor_id, student_id, status, starts_at, ends_at, busy_until, booked_at, canceled_at, created_at, updated_at)
     SELECT $1, club_id, id, mentor_id, $3, $4, $5::timestamptz, $5::timestamptz + duration_minutes * interval '1 minute',
            $5::timestamptz + (duration_minutes + buffer_minutes) * interval '1 minute', $6, CASE WHEN $4 = 'canceled' THEN $6::timestamptz END, $6, $6
       FROM mentorships WHERE id = $2`,
    [id, mentorshipId, studentId, status, startsAt, bookedAt],
  );
  return { id };
}
