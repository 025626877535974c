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

/** A row that is overdue for longer has lost its workflow, or the workers are overloaded. */
export const overdueMs = 2 * 60_000;
/** If Temporal has lost all runs, each round restarts only a part of them. */
const rescuedARound = 500;
/** All queries of a round must end within a minute, the time limit of the activity. */
const longestQueryMs = 5_000;
const sweepRound = 'sweep';
/** In each table. */
const removedARound = 1_000;
/** The limit of sign-ups counts the sign-ups of this time (DEC-62). */
const signUpNetworkMs = 3_600_000;
const mailHistoryMs = 30 * 86_400_000;

/** Some kinds of rows could not be read. The workflows of the other rows were woken. */
export class IncompleteRound extends Error {
  override name = 'IncompleteRound';
  readonly rescued: number;

  constructor(rescued: number, cause: unknown) {
    super('The sweeper could not read every kind of row.', { cause });
    this.rescued = rescued;
  }
}

/**
 * Wakes the workflows of overdue rows, except during the pause after a fault. Each kind of row has its own transaction, so that a slow kind
 * does not delay the others.
 * @returns the number of woken workflows: 0 in normal operation; an alert reports other numbers
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

async function noteRound(db: Queries, now: Date): Promise<void> {
  await db.run(sql`INSERT INTO upkeep_rounds (name, completed_at) VALUES (${sweepRound}, ${now})
     ON CONFLICT (name) DO UPDATE SET completed_at = greatest(upkeep_rounds.completed_at, excluded.completed_at)`);
}

/** @returns undefined before the first round */
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

/** @returns the rows that were due before this time and have no wake, lease or fault */
export function overdueQueries(source: DataSource, before: Date): OverdueQuery[] {
  return workflowTypeNames.flatMap((workflowType) => {
    const { key, attributes, taskQueue, bulkTaskQueue } = workflowTypes[workflowType];
    const subject = columnOf(source, workflowType, key);
    const hasOwn = source.getMetadata(workflowTypes[workflowType].entity).findColumnWithPropertyName('priority');
    // New work has priority over many overdue rows (ENG-15). A row with its own priority, such as a mail, keeps it.
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

const expiredBefore = (before: Date) => sql`expires_at < ${before}`;
/** In UTC. */
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

/** Removes one batch of each kind. */
export async function removeExpired(db: Queries, now: Date): Promise<void> {
  for (const { table, key, isOver, ageMs } of expiries) {
    const before = new Date(now.getTime() - ageMs);
    await db.run(
      sql`DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE ${isOver(before)} LIMIT ${removedARound})`,
    );
  }
}
