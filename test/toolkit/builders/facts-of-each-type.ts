/** One fact of each type, with the records that the bodies of the facts show. */
import type { FactAndStudent } from '../../../domain/webhooks/events/bodies/reading.ts';
import { eventTypes } from '../../../platform/core/event-types.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';
import { buildFurnishedClub } from './furnished-club.ts';

/** @returns facts about a new club and its student, who has this name */
export async function factsOfEachType(name: string, now: Date): Promise<FactAndStudent[]> {
  const { id: clubId, student: learner, records } = await buildFurnishedClub();
  const source = await testDatabase();
  const about = [learner.id, clubId];
  await source.query(
    `INSERT INTO lesson_progress (student_id, club_id, lesson_id, first_completed_at, completed, updated_at)
     VALUES ($1, $2, $3, $4, true, $4)`,
    [...about, records.lesson, now],
  );
  await source.query(
    `INSERT INTO course_completions (student_id, club_id, course_id, completed_at) VALUES ($1, $2, $3, $4)`,
    [...about, records.course, now],
  );
  const [sales] = await source.query<{ purchase: Id; subscription: Id }[]>(
    `SELECT purchase.id AS purchase, subscription.id AS subscription
       FROM purchases purchase JOIN subscriptions subscription USING (student_id, club_id)
      WHERE student_id = $1 AND club_id = $2`,
    about,
  );
  const subjects: Record<string, Id | undefined> = {
    access: records.enrollment,
    ...sales,
    lesson: records.lesson,
    course: records.course,
    certificate: records.certificate,
    'student.tagged': records.tag,
    'student.untagged': records.tag,
    'student.level_reached': records.level,
  };
  return eventTypes.map((type) => ({
    fact: {
      id: newId(),
      clubId,
      type,
      studentId: learner.id,
      subjectId: subjects[type] ?? subjects[type.split('.')[0] ?? ''] ?? null,
      details: { previousEndsAt: now.toISOString(), previousCohortId: records.cohort },
      occurredAt: new Date('2026-03-02T09:15:00.456Z'),
    },
    student: {
      id: learner.id,
      name,
      email: 'zoe@example.com',
      verified: false,
      createdAt: new Date('2026-02-20T08:00:00.123Z'),
      removed: false,
    },
  }));
}
