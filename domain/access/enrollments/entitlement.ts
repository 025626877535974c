/**
 * Decides whether a student has access now. The decision uses the start and the end of each enrollment, so no job is needed to end an
 * access.
 */
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';

/**
 * Returns an SQL condition that is true if an enrollment gives the student access to the course at the time `now`.
 * @param courseId the SQL of the course's id, such as `` sql`course.id` ``
 */
export function hasAccessToCourse(courseId: Sql, studentId: Id, now: Date): Sql {
  return hasAccess(sql`opening.course_id = ${courseId}`, studentId, now);
}

/** Returns an SQL condition that is true if the student has access to the repository. */
export function hasAccessToRepository(repositoryId: Sql, studentId: Id, now: Date): Sql {
  return hasAccess(sql`opening.repository_id = ${repositoryId}`, studentId, now);
}

/** Returns an SQL condition that is true if the student has access to the AI agent. */
export function hasAccessToAgent(agentId: Sql, studentId: Id, now: Date): Sql {
  return hasAccess(sql`opening.agent_id = ${agentId}`, studentId, now);
}

/** Returns an SQL condition that is true if the student has access to the private space. */
export function hasAccessToSpace(spaceId: Sql, studentId: Id | Sql, now: Date): Sql {
  return hasAccess(sql`opening.space_id = ${spaceId}`, studentId, now);
}

/** Returns an SQL condition that is true if the student has access to the delivery. The delivery can be of any kind. */
export function hasAccessToDelivery(deliveryId: Sql, studentId: Sql, now: Date): Sql {
  return hasAccess(sql`opening.id = ${deliveryId}`, studentId, now);
}

/** The subquery uses the unusual aliases `held` and `opening`, so that `opens` can refer to outer tables by their usual aliases. */
function hasAccess(opens: Sql, studentId: Id | Sql, now: Date): Sql {
  return sql`EXISTS (
    SELECT FROM enrollments held JOIN access_deliveries opening ON opening.id = held.delivery_id
     WHERE held.student_id = ${studentId} AND ${opens} AND held.revoked_at IS NULL
       AND held.starts_at <= ${now} AND (held.ends_at IS NULL OR held.ends_at > ${now}))`;
}

/** @returns whether the student has access to the agent now, even if the agent is not published */
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
