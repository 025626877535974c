/** Whether a student has access to something now: asked of the enrollments' times, so nothing must have run for an access to end. */
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';

/**
 * The condition under which a student has access to a course at a time: an enrollment of one of its deliveries.
 * @param course @param student @param now SQL expressions, such as `course.id` and `$1`
 */
export function hasAccessToCourse({ course, student, now }: { course: string; student: string; now: string }): string {
  return hasAccess('course_id', course, student, now);
}

/** The same for an AI agent. @param agent an SQL expression as well */
export function hasAccessToAgent({ agent, student, now }: { agent: string; student: string; now: string }): string {
  return hasAccess('agent_id', agent, student, now);
}

function hasAccess(column: 'course_id' | 'agent_id', opened: string, student: string, now: string): string {
  return `EXISTS (
    SELECT FROM enrollments enrollment JOIN access_deliveries delivery ON delivery.id = enrollment.delivery_id
     WHERE enrollment.student_id = ${student} AND delivery.${column} = ${opened} AND enrollment.revoked_at IS NULL
       AND enrollment.starts_at <= ${now} AND (enrollment.ends_at IS NULL OR enrollment.ends_at > ${now}))`;
}

/** @returns whether the student has access to the agent now, be the agent published or not; a student's enrollments have an index */
export async function isEntitled(
  db: Queries,
  { clubId, studentId, agentId }: { clubId: Id; studentId: Id; agentId: Id },
  now: Date,
): Promise<boolean> {
  const rows = await db.query<unknown[]>(
    `SELECT 1 FROM agents agent
      WHERE agent.id = $1 AND agent.club_id = $2 AND ${hasAccessToAgent({ agent: 'agent.id', student: '$3', now: '$4' })}`,
    [agentId, clubId, studentId, now],
  );
  return rows.length > 0;
}
