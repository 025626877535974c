/** Records faults of steps. Each further fault has a longer pause, and the sweeper does not wake the row meanwhile (ENG-16). */
import { describeError } from '../infra/describe-error.ts';
import { isConflict, type Queries } from '../infra/postgres/database.ts';
import { raw, sql, union, type Sql } from '../infra/postgres/sql.ts';
import type { Id } from '../core/ids.ts';
import { workflowIdOf, workflowTypeNames, workflowTypes, type WorkflowType } from './workflow-types.ts';

/** In Unix milliseconds. */
export interface FailedStep {
  done: false;
  at: number;
  failing: { faults: number; code: string };
}

/** Each further fault in a row doubles the pause. */
const firstPauseSeconds = 1;
const longestPauseSeconds = 600;
/** The longest pause if a person waits for the result. */
const longestEagerPauseSeconds = 10;

/**
 * @param now Unix milliseconds
 * @throws Error if Postgres is unavailable, so that the fault cannot be recorded
 */
export async function noteFault(
  db: Queries,
  type: WorkflowType,
  subjectId: Id,
  error: unknown,
  now: number,
): Promise<FailedStep> {
  const described = describeError(error);
  const code = described.code ?? described.name;
  // A conflict between two transactions is not a fault of the step, so the pause does not grow.
  const counts = isConflict(error) ? 0 : 1;
  const at = new Date(now);
  const longest = workflowTypes[type].startsEagerly ? longestEagerPauseSeconds : longestPauseSeconds;
  // The exponent is limited, because a number beyond the float range would be an error.
  const pause = sql`CASE WHEN ${counts}::int = 0 THEN ${firstPauseSeconds}::float8
                         ELSE least(${longest}::float8, ${firstPauseSeconds}::float8 * 2 ^ least(failing.fault_count, 20)) END`;
  const recordedFault = await db.one<{ faults: number; retryAt: Date }>(sql`
    INSERT INTO failing_steps AS failing (workflow_id, workflow_type, fault_count, error_code, failing_since, retry_at)
    VALUES (${workflowIdOf(type, subjectId)}, ${type}, ${counts}, ${code}, ${at}, ${new Date(now + firstPauseSeconds * 1_000)})
    ON CONFLICT (workflow_id) DO UPDATE
       SET fault_count = failing.fault_count + excluded.fault_count, error_code = excluded.error_code,
           retry_at = ${at}::timestamptz + make_interval(secs => ${pause})
    RETURNING fault_count AS faults, retry_at AS "retryAt"`);
  if (!recordedFault) throw new Error('The recorded fault returned no row.');
  return { done: false, at: recordedFault.retryAt.getTime(), failing: { faults: recordedFault.faults, code } };
}

/** A step counts as repaired if it has not failed for this time after its next try was due. */
const forgottenAfterMs = 10 * 60_000;

/** Deletes old faults, so that a later fault begins with the first pause. */
export async function forgetFaults(db: Queries, now: Date): Promise<void> {
  await db.run(sql`DELETE FROM failing_steps WHERE retry_at < ${new Date(now.getTime() - forgottenAfterMs)}`);
}

/**
 * A condition that is true while the workflow is in the pause after a fault. Its row is then not overdue.
 * @param subject such as `row.id`
 * @param before only pauses that end after this time count
 */
export function isFailing(type: WorkflowType, subject: Sql, before: Sql): Sql {
  const workflowId = raw(`'${workflowIdOf(type, '')}'`);
  return sql`EXISTS (SELECT FROM failing_steps failing
                      WHERE failing.workflow_id = ${workflowId} || ${subject} AND failing.retry_at > ${before})`;
}

/** A step still counts as failed for this time after its next try is due: the try may wait for a lease. */
const countedAfter = '2 min';

/**
 * @param aggregate an SQL aggregate over `failing_steps`
 * @returns a query with one row for each workflow type, without repaired steps
 */
export function failingSteps(aggregate: Sql): Sql {
  return union(
    workflowTypeNames.map(
      (type) => sql`SELECT ${type}::text AS label, coalesce((SELECT ${aggregate} FROM failing_steps
        WHERE workflow_type = ${type} AND retry_at > clock_timestamp() - ${countedAfter}::interval), 0) AS value`,
    ),
  );
}
