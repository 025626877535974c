/** SQL for the rows that need a running workflow, from the table of workflow types. */
import type { DataSource } from 'typeorm';
import { all, list, raw, sql, union, type Sql } from '../infra/postgres/sql.ts';
import { isFailing } from './faults.ts';
import { workflowTypeNames, workflowTypes, type WorkflowType } from './workflow-types.ts';

interface DueRows {
  from: Sql;
  at: Sql;
  /** True if the row needs its run, and no worker has leased the row. */
  condition: Sql;
}

export function dueRowsOf(source: DataSource, type: WorkflowType): DueRows[] {
  const { entity, due } = workflowTypes[type];
  const { tableName } = source.getMetadata(entity);
  return due.map(({ at, where, join, leased }) => ({
    from: raw([`${tableName} row`, ...(join === undefined ? [] : [join])].join(' ')),
    at: columnOf(source, type, at),
    condition: all([
      where === null ? undefined : raw(`(${where})`),
      leased ? sql`(row.lease_until IS NULL OR row.lease_until < clock_timestamp())` : undefined,
      sql`true`,
    ]),
  }));
}

/** @returns `row.next_attempt_at` for `nextAttemptAt` */
export function columnOf(source: DataSource, type: WorkflowType, property: string): Sql {
  const column = source.getMetadata(workflowTypes[type].entity).findColumnWithPropertyName(property);
  if (!column) throw new Error(`${workflowTypes[type].entity.name} has no column ${property}`);
  return raw(`row.${column.databaseName}`);
}

/** Counting millions of rows would take longer than the interval of the scrapes. */
export const maxCounted = 10_000;

/** @returns a query: `value` is the number of due rows of each workflow type, without rows in the pause after a fault; at most 10,000 */
export function countOfDueRows(source: DataSource): Sql {
  return ofDueRows(source, (due) => ({
    each: sql`(SELECT count(*) FROM (SELECT ${due} LIMIT ${maxCounted}) due)::int`,
    together: (counts) => counts.reduce((sum, count) => sql`${sum} + ${count}`),
  }));
}

/** @returns a query: `value` is the age in seconds of the oldest row of {@link countOfDueRows}; 0 if no row is due */
export function ageOfDueRows(source: DataSource): Sql {
  return ofDueRows(source, (due, at) => ({
    each: sql`(SELECT ${at} ${due} ORDER BY ${at} LIMIT 1)`,
    together: (times) => sql`coalesce(extract(epoch FROM clock_timestamp() - least(${list(times)})), 0)::float`,
  }));
}

/** @param ask called with the SQL `FROM … WHERE …` of each kind of due rows, and its time column */
function ofDueRows(
  source: DataSource,
  ask: (due: Sql, at: Sql) => { each: Sql; together: (each: readonly Sql[]) => Sql },
): Sql {
  return union(
    workflowTypeNames.map((type) => {
      const isPaused = isFailing(type, columnOf(source, type, workflowTypes[type].key), sql`clock_timestamp()`);
      const queries = dueRowsOf(source, type).map(({ at, from, condition }) =>
        ask(sql`FROM ${from} WHERE ${at} < clock_timestamp() AND ${condition} AND NOT ${isPaused}`, at),
      );
      const [first] = queries;
      if (!first) throw new Error(`Workflow type ${type} has no query of due rows`);
      return sql`SELECT ${type}::text AS label, ${first.together(queries.map(({ each }) => each))} AS value`;
    }),
  );
}
