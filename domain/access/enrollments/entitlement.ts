/** Whether a student has access to something now: asked of the enrollments' times, so nothing must have run for an access to end. */
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';

/**
 * The condition under which a student has access to a course at a time: an enrollment of one of its deliveries.
 * @param courseId such as `` sql`course.id` ``
 */
export function hasAccessToCourse(courseId: Sql, studentId: Id, now: Date): Sql {
  return hasAccess(sql`opening.course_id = ${courseId}`, studentId, now);
}

/** The same for a repository. */
export function hasAccessToRepository(repositoryId: Sql, studentId: Id, now: Date): Sql {
  return hasAccess(sql`opening.repository_id = ${repositoryId}`, studentId, now);
}

/** The same for an AI agent. */
export function hasAccessToAgent(agentId: Sql, studentId: Id, now: Date): Sql {
  return hasAccess(sql`opening.agent_id = ${agentId}`, studentId, now);
}

/** The same for a private space. */
export function hasAccessToSpace(spaceId: Sql, studentId: Id | Sql, now: Date): Sql {
  return hasAccess(sql`opening.space_id = ${spaceId}`, studentId, now);
}

/** The same for a delivery, whatever it opens. */
export function hasAccessToDelivery(deliveryId: Sql, studentId: Sql, now: Date): Sql {
  return hasAccess(sql`opening.id = ${deliveryId}`, studentId, now);
}

/** Its tables have names of their own, so that the expressions may be columns of tables with the usual names. */
function hasAccess(opens: Sql, studentId: Id | Sql, now: Date): Sql {
  return sql`EXISTS (
    SELECT FROM enrollments held JOIN access_deliveries opening ON opening.id = held.delivery_id
     WHERE held.student_id = ${studentId} AND ${opens} AND held.revoked_at IS NULL
       AND held.starts_at <= ${now} AND (held.ends_at IS NULL OR held.ends_at > ${now}))`;
}

/** @returns whether the student has access to the agent now, be the agent published or not; a student's enrollments have an index */
export async function isEntitled(
  db: Queries,
  { clubId, studentId, agentId }: { clubId: Id; studentId: Id; agentId: Id },
  now: Date,
): Promise<boolean> {
  const rows = await db.rows(
    sql`SELECT 1 FROM agents agent
         WHERE agent.id = ${agentId} AND agent.club_id = ${clubId} AND ${hasAccessToAgent(sql`agent.id`, studentId, now)}`,
  );
  return rows.length > 0;
}
