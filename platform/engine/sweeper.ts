/** The sweeper. It wakes the workflows of overdue rows without a lease, and removes expired rows (ENG-5). */
import type { DataSource } from 'typeorm';
import { bulk } from '../../entities/facts/values.ts';
import type { Database, Queries } from '../infra/postgres/database.ts';
import { list, sql, type Sql } from '../infra/postgres/sql.ts';
import { noClub } from '../core/ids.ts';
import { columnOf, dueRowsOf } from './due-rows.ts';
import { isFailing } from './faults.ts';
import { wakeRuns } from './wakes.ts';
import { workflowIdOf, workflowTypeNames, workflowTypes, type Run, type WorkflowType } from './workflow-types.ts';

/**
 * The time after which an overdue row without a lease is woken. After this time, either its workflow is lost or the workers are overloaded.
 */
export const overdueMs = 2 * 60_000;
/** The row limit of each query in a round. If Temporal has lost all runs, each round restarts only a portion of them. */
const rescuedARound = 500;
/** The time limit of a query. It is so short that all queries of a round end within one minute, the time limit of the activity. */
const longestQueryMs = 5_000;
/** The name under which a complete round is recorded. */
const sweepRound = 'sweep';
/** The maximum number of rows that a round removes from one table. */
const removedARound = 1_000;
/** The time for which the network address of a sign-up is stored. The limit of sign-ups counts the sign-ups of this time (DEC-62). */
const signUpNetworkMs = 3_600_000;
/** The time for which the row of a mail is stored after the mail was sent. */
const mailHistoryMs = 30 * 86_400_000;

/** Some kinds of rows could not be read. Overdue rows of the other kinds were woken. */
export class IncompleteRound extends Error {
  override name = 'IncompleteRound';
  /** The number of workflows that the sweeper has woken, although some kinds of rows failed. */
  readonly rescued: number;

  /** @param cause the error of the first kind that failed */
  constructor(rescued: number, cause: unknown) {
    super('The sweeper could not read every kind of row.', { cause });
    this.rescued = rescued;
  }
}

/**
 * Wakes workflows whose rows are overdue, except during the pause after a fault. Each kind of row has its own transaction, so that a slow
 * kind, or a kind with errors, does not delay the other kinds.
 * @returns the number of woken workflows. It is 0 in normal operation, and an alert reports any other number
 * @throws IncompleteRound
 */
export async function rescueOverdue(db: Database, now: Date): Promise<number> {
  const overdue = new Date(now.getTime() - overdueMs);
  const failures: unknown[] = [];
  let rescued = 0;
  for (const query of overdueQueries(db.source, overdue)) {
    try {
      rescued += await rescue(db, query, now);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new IncompleteRound(rescued, failures[0]);
  await noteRound(db, now);
  return rescued;
}

function rescue(db: Database, { statement }: OverdueQuery, now: Date): Promise<number> {
  return db.transaction(async (tx) => {
    await tx.run(sql`SELECT set_config('statement_timeout', ${String(longestQueryMs)}, true)`);
    const runs = await tx.rows<Run>(statement);
    await wakeRuns(tx, runs, now);
    return runs.length;
  });
}

/** @param now the time of the sweep, from its workflow */
async function noteRound(db: Queries, now: Date): Promise<void> {
  await db.run(sql`INSERT INTO upkeep_rounds (name, completed_at) VALUES (${sweepRound}, ${now})
     ON CONFLICT (name) DO UPDATE SET completed_at = greatest(upkeep_rounds.completed_at, excluded.completed_at)`);
}

/** @returns the time of the last complete round; undefined before the first round */
export async function lastCompleteRound(db: Queries): Promise<Date | undefined> {
  const row = await db.one<{ at: Date | null }>(
    sql`SELECT completed_at AS at FROM upkeep_rounds WHERE name = ${sweepRound}`,
  );
  return row?.at ?? undefined;
}

interface OverdueQuery {
  workflowType: WorkflowType;
  statement: Sql;
}

/**
 * @returns a query for each `due` entry of each workflow type. It finds the rows that were due before this time and have no wake, lease or
 * fault
 */
export function overdueQueries(source: DataSource, before: Date): OverdueQuery[] {
  return workflowTypeNames.flatMap((workflowType) => {
    const { key, attributes, taskQueue, bulkTaskQueue } = workflowTypes[workflowType];
    const subject = columnOf(source, workflowType, key);
    const hasOwn = source.getMetadata(workflowTypes[workflowType].entity).findColumnWithPropertyName('priority');
    // If many rows are overdue, new work has priority over them (ENG-15). But a row with its own priority, such as a mail, keeps its
    // priority. So the row also stays in the queue for this priority.
    const rescuePriority =
      taskQueue === bulkTaskQueue && workflowTypes[workflowType].priority > 0
        ? bulk
        : workflowTypes[workflowType].priority;
    const priority = hasOwn ? sql`row.priority` : sql`${rescuePriority}::smallint`;
    const pairs = Object.entries(attributes).map(
      ([name, of]) => sql`${name}::text, ${columnOf(source, workflowType, of)}`,
    );
    const attributesOfRow = pairs.length === 0 ? sql`` : list(pairs);
    return dueRowsOf(source, workflowType).map(({ at, from, condition }) => ({
      workflowType,
      statement: sql`
        SELECT ${workflowType}::text AS "workflowType", ${subject} AS "subjectId", row.club_id AS "clubId",
               jsonb_strip_nulls(jsonb_build_object(${attributesOfRow})) AS attributes,
               ${priority} AS priority
          FROM ${from}
         WHERE ${at} < ${before} AND ${condition}
           AND NOT EXISTS (SELECT FROM wakes WHERE club_id = coalesce(row.club_id, ${noClub}) AND workflow_id = ${workflowIdOf(workflowType, '')} || ${subject})
           AND NOT ${isFailing(workflowType, subject, sql`${before}`)}
         ORDER BY ${at} LIMIT ${rescuedARound}`,
    }));
  });
}

/** Matches expired rows, which the program does not need any more. */
const expiredBefore = (before: Date) => sql`expires_at < ${before}`;
/** Matches the counters of days that are over, in UTC. */
const ofADayBefore = (before: Date) => sql`day < (${before}::timestamptz AT TIME ZONE 'UTC')::date`;
const createdBefore = (before: Date) => sql`created_at < ${before}`;
const expiries = [
  { table: sql`student_sessions`, key: sql`token_hash`, isOver: expiredBefore, ageMs: 0 },
  { table: sql`administrator_sessions`, key: sql`token_hash`, isOver: expiredBefore, ageMs: 0 },
  { table: sql`one_time_tokens`, key: sql`id`, isOver: expiredBefore, ageMs: 0 },
  { table: sql`code_failure_counts`, key: sql`address_key`, isOver: ofADayBefore, ageMs: 0 },
  { table: sql`sign_up_networks`, key: sql`student_id`, isOver: createdBefore, ageMs: signUpNetworkMs },
  { table: sql`club_mail_days`, key: sql`day`, isOver: ofADayBefore, ageMs: 0 },
  { table: sql`club_bulk_days`, key: sql`day`, isOver: ofADayBefore, ageMs: 0 },
  {
    table: sql`test_mails`,
    key: sql`id`,
    isOver: (before: Date) => sql`status <> 'pending' AND created_at < ${before}`,
    ageMs: mailHistoryMs,
  },
  { table: sql`invitations`, key: sql`id`, isOver: expiredBefore, ageMs: 0 },
  {
    table: sql`transactional_mails`,
    key: sql`id`,
    isOver: (before: Date) => sql`status <> 'pending' AND created_at < ${before}`,
    ageMs: mailHistoryMs,
  },
];

/** Removes expired sessions, tokens, invitations and old mail rows, one batch of each. */
export async function removeExpired(db: Queries, now: Date): Promise<void> {
  for (const { table, key, isOver, ageMs } of expiries) {
    const before = new Date(now.getTime() - ageMs);
    await db.run(
      sql`DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE ${isOver(before)} LIMIT ${removedARound})`,
    );
  }
}
