/** Checks that a workflow run reads each waiting row in Postgres in time. */
import { columnOf, dueRowsOf } from '../../../platform/engine/due-rows.ts';
import { isFailing } from '../../../platform/engine/faults.ts';
import { overdueQueries } from '../../../platform/engine/sweeper.ts';
import { workflowIdOf, workflowTypes, type WorkflowType } from '../../../platform/engine/workflow-types.ts';
import { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { SimulatedPostgres } from './postgres.ts';
import { mustHold } from './stage.ts';

/** The sweeper wakes rows that are overdue by this time (ENG-5). */
const overdueMs = 120_000;

interface Looks {
  types: readonly WorkflowType[];
  /** Unix milliseconds. */
  now: number;
  /** @returns when the run will read the row next, in Unix milliseconds; undefined if there is no run */
  looksAt: (workflowId: string) => number | undefined;
  /** A run must read a due row within this time. */
  slackMs: number;
}

/** @throws BrokenInvariant when a waiting row has neither a wake nor a run that reads the row in time */
export async function expectSomebodyLooks(
  { source }: SimulatedPostgres,
  { types, now, looksAt, slackMs }: Looks,
): Promise<void> {
  for (const type of types) {
    const key = columnOf(source, type, workflowTypes[type].key);
    for (const { from, at, condition } of dueRowsOf(source, type)) {
      const hasFailingStep = isFailing(type, key, sql`${new Date(now)}`);
      const rows = await new Queries(source.manager).rows<{ id: string; at: Date }>(
        sql`SELECT ${key}::text AS id, ${at} AS at FROM ${from}
             WHERE ${at} IS NOT NULL AND ${condition} AND NOT ${hasFailingStep} AND NOT ${isDirect}
               AND NOT EXISTS (SELECT FROM wakes WHERE workflow_id = ${workflowIdOf(type, '')} || ${key}::text)`,
      );
      for (const row of rows) {
        const due = Math.max(row.at.getTime(), now);
        const id = workflowIdOf(type, row.id);
        const looks = looksAt(id);
        mustHold(
          looks !== undefined && looks <= due + slackMs,
          'a run reads each pending row in time',
          () =>
            `${id} is due in ${(due - now) / 1_000} s; ${looks === undefined ? 'it has no run' : `its run reads it in ${(looks - now) / 1_000} s`}`,
        );
      }
    }
  }
}

/** Each relay searches for lost direct attempts. */
const isDirect = sql`coalesce((to_jsonb(row)->>'direct')::boolean, false)`;

/**
 * Returns whether a round of the sweeper would find rows. A round needs a transaction for each kind of row, so the simulation runs a round
 * only in this case.
 */
export async function hasOverdue(
  { source }: SimulatedPostgres,
  types: readonly WorkflowType[],
  now: number,
): Promise<boolean> {
  const queries = new Queries(source.manager);
  for (const { workflowType, statement } of overdueQueries(source, new Date(now - overdueMs)))
    if (types.includes(workflowType) && (await queries.one(statement))) return true;
  return false;
}

export async function hasFacts(postgres: SimulatedPostgres): Promise<boolean> {
  const [row] = await postgres.ask<{ has: boolean }>('SELECT EXISTS (SELECT FROM facts) AS has');
  return row?.has ?? false;
}

/** @returns the time at which a relay can take waiting work, in Unix milliseconds */
export async function backlogAt(postgres: SimulatedPostgres): Promise<number | undefined> {
  const [row] = await postgres.ask<{ at: Date | null }>(
    `SELECT min(at) AS at FROM (SELECT greatest(due_at, lease_until) AS at FROM facts UNION ALL SELECT greatest(due_at, lease_until) FROM wakes
       UNION ALL SELECT lease_until FROM webhook_deliveries WHERE direct) AS waiting`,
  );
  return row?.at ? Math.ceil(row.at.getTime()) : undefined;
}
