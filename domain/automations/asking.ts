/**
 * Evaluates the rules of an automation for one run. The query returns one answer for each rule, because the record of the run shows them
 * all.
 */
import type { AccessKind } from '../../entities/automations/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { list, raw, sql, type Sql } from '../../platform/infra/postgres/sql.ts';
import { meets, type Condition } from '../conditions/conditions.ts';

export interface Question {
  runId: Id;
  studentId: Id;
  exitWhen: Condition | undefined;
  condition: Condition | undefined;
  /** The access whose loss ends the run. Absent if a loss of access does not end the run. */
  access: { kind: AccessKind | null; id: Id | null } | undefined;
  /** Whether the query must also find the next time at which an access of the student begins or ends because of its dates. */
  watchesAccess: boolean;
}

export interface Answers {
  exitWhen: boolean[];
  condition: boolean[];
  /** Whether the student has the access for which the run was started. Null if `access` is absent. */
  open: boolean | null;
  /** The next time at which the student's access begins or ends because of its dates. */
  nextChange: Date | null;
}

/**
 * @param world the `WITH …` clause of a dry run. Its expressions have the names of tables, so the query reads them instead of the tables
 * @returns all answers, from one snapshot of the database
 */
export async function answer(db: Queries, question: Question, now: Date, world: Sql = raw('')): Promise<Answers> {
  const { runId, studentId, exitWhen, condition, access, watchesAccess } = question;
  const context = { student: sql`${studentId}::uuid`, now, runId };
  const each = (of: Condition | undefined): Sql => {
    const rules = (of?.rules ?? []).map((rule) => meets({ match: 'all', rules: [rule] }, context));
    return rules.length === 0 ? raw(`'{}'::boolean[]`) : sql`ARRAY[${list(rules)}]`;
  };
  if (!exitWhen && !condition && !access && !watchesAccess)
    return { exitWhen: [], condition: [], open: null, nextChange: null };
  const row =
    await db.one<Answers>(sql`${world} SELECT ${each(exitWhen)} AS "exitWhen", ${each(condition)} AS condition,
    ${access ? isOpen(studentId, access, now) : raw('NULL::boolean')} AS open,
    ${watchesAccess ? nextChangeOf(studentId, now) : raw('NULL::timestamptz')} AS "nextChange"`);
  if (!row) throw new Error(`The questions of run ${runId} returned no row`);
  return row;
}

/**
 * Whether the student has the access for which the run was started: a delivery, a course, or a product with its deliveries. If the trigger
 * named none of these, any access counts.
 */
function isOpen(studentId: Id, { kind, id }: { kind: AccessKind | null; id: Id | null }, now: Date): Sql {
  const which = {
    delivery: sql`held.delivery_id = ${id}`,
    course: sql`opening.course_id = ${id}`,
    product: sql`held.delivery_id IN (SELECT delivery_id FROM product_deliveries WHERE product_id = ${id})`,
    any: raw('true'),
  }[kind ?? 'any'];
  return sql`EXISTS (SELECT FROM enrollments held JOIN access_deliveries opening ON opening.id = held.delivery_id
    WHERE held.student_id = ${studentId} AND held.revoked_at IS NULL AND held.starts_at <= ${now}
      AND (held.ends_at IS NULL OR held.ends_at > ${now}) AND ${which})`;
}

function nextChangeOf(studentId: Id, now: Date): Sql {
  return sql`(SELECT min(least(CASE WHEN starts_at > ${now} THEN starts_at END, CASE WHEN ends_at > ${now} THEN ends_at END))
    FROM enrollments WHERE student_id = ${studentId} AND revoked_at IS NULL)`;
}
