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

/** The same for a delivery, whatever it opens. @param delivery an SQL expression as well */
export function hasAccessToDelivery({
  delivery,
  student,
  now,
}: {
  delivery: string;
  student: string;
  now: string;
}): string {
  return hasAccess('id', delivery, student, now);
}

/** Its tables have names of their own, so that the expressions may be columns of tables with the usual names. */
function hasAccess(column: 'id' | 'course_id' | 'agent_id', opened: string, student: string, now: string): string {
  return `EXISTS (
    SELECT FROM enrollments held JOIN access_deliveries opening ON opening.id = held.delivery_id
     WHERE held.student_id = ${student} AND opening.${column} = ${opened} AND held.revoked_at IS NULL
       AND held.starts_at <= ${now} AND (held.ends_at IS NULL OR held.ends_at > ${now}))`;
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
