/** The sweeper: wakes overdue rows without a lease, and removes expired rows (ENG-5). */
import type { DataSource } from 'typeorm';
import type { Database } from '../infra/postgres/database.ts';
import { columnOf, dueRowsOf } from './due-rows.ts';
import { wakeRuns } from './wakes.ts';
import { workflowIdOf, workflowTypeNames, workflowTypes, type Run, type WorkflowType } from './workflow-types.ts';

/** A row overdue by this, without a living lease, has lost its workflow, unless there is more due than the workers carry. */
const overdueMs = 2 * 60_000;
/** Rows of each query a round, so that a server which forgot everything is brought back in steps, not in one wave. */
const rescuedARound = 500;
/** Rows of a table removed a round. */
const removedARound = 1_000;
/** How long a sent mail's row is kept. */
const mailHistoryMs = 30 * 86_400_000;

/** Wakes workflows whose rows are overdue. @returns how many: 0 in normal life, an alert depends on it */
export async function rescueOverdue(db: Database, now: Date): Promise<number> {
  const overdue = new Date(now.getTime() - overdueMs);
  return db.transaction(async (tx) => {
    const runs: Run[] = [];
    for (const { text, parameters } of overdueQueries(db.source, overdue))
      runs.push(...(await tx.query<Run[]>(text, parameters)));
    await wakeRuns(tx, runs, now);
    return runs.length;
  });
}

interface Statement {
  workflowType: WorkflowType;
  text: string;
  parameters: unknown[];
}

/** @returns the query of each `due` of each workflow type: rows due before this time that no wake and no lease covers */
export function overdueQueries(source: DataSource, before: Date): Statement[] {
  return workflowTypeNames.flatMap((workflowType) => {
    const { key, attributes } = workflowTypes[workflowType];
    const subject = columnOf(source, workflowType, key);
    const hasOwn = source.getMetadata(workflowTypes[workflowType].entity).findColumnWithPropertyName('priority');
    const priority = hasOwn ? 'row.priority' : `${workflowTypes[workflowType].priority}`;
    const pairs = Object.entries(attributes).map(([name, of]) => `'${name}', ${columnOf(source, workflowType, of)}`);
    return dueRowsOf(source, workflowType).map(({ at, from, condition }) => ({
      workflowType,
      text: `
        SELECT $4::text AS "workflowType", ${subject} AS "subjectId", row.club_id AS "clubId",
               jsonb_strip_nulls(jsonb_build_object(${pairs.join(', ')})) AS attributes,
               ${priority} AS priority
          FROM ${from}
         WHERE ${at} < $1 AND ${condition}
           AND NOT EXISTS (SELECT FROM wakes WHERE workflow_id = $3 || ${subject})
         ORDER BY ${at} LIMIT $2`,
      parameters: [before, rescuedARound, workflowIdOf(workflowType, ''), workflowType],
    }));
  });
}

/** Rows whose time is over: none of them is good for anything any more. */
const expiries = [
  { table: 'student_sessions', key: 'token_hash', condition: 'expires_at < $1', ageMs: 0 },
  { table: 'administrator_sessions', key: 'token_hash', condition: 'expires_at < $1', ageMs: 0 },
  { table: 'one_time_tokens', key: 'id', condition: 'expires_at < $1', ageMs: 0 },
  {
    table: 'code_failure_counts',
    key: 'address_key',
    condition: `day < ($1::timestamptz AT TIME ZONE 'UTC')::date`,
    ageMs: 0,
  },
  { table: 'invitations', key: 'id', condition: 'expires_at < $1', ageMs: 0 },
  {
    table: 'transactional_mails',
    key: 'id',
    condition: `status <> 'pending' AND created_at < $1`,
    ageMs: mailHistoryMs,
  },
] as const;

/** Removes expired sessions, tokens, invitations and old mail rows, a batch of each. */
export async function removeExpired(source: DataSource, now: Date): Promise<void> {
  for (const { table, key, condition, ageMs } of expiries) {
    await source.query(
      `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE ${condition} LIMIT ${removedARound})`,
      [new Date(now.getTime() - ageMs)],
    );
  }
}
