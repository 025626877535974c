/** SQL for the rows that need a running workflow, from the table of workflow types. */
import type { DataSource } from 'typeorm';
import { all, list, raw, sql, union, type Sql } from '../infra/postgres/sql.ts';
import { isFailing } from './faults.ts';
import { workflowTypeNames, workflowTypes, type WorkflowType } from './workflow-types.ts';

interface DueRows {
  /** `FROM` without the keyword; the alias of the table is `row`. */
  from: Sql;
  /** The column with the due time. */
  at: Sql;
  /** The condition under which a due row counts: the row needs its run, and no worker has leased the row. */
  condition: Sql;
}

/** @returns one part of a query for each entry in the type's `due` */
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

/** The highest number to which the query counts. Counting millions of rows would take longer than the interval of the scrapes. */
export const maxCounted = 10_000;

/**
 * @returns a query over the rows that are due now. It does not count rows that are in the pause after a fault. `label` is the workflow
 * type.
 * `value` is the number of due rows; each query counts at most 10,000 rows
 */
export function countOfDueRows(source: DataSource): Sql {
  return ofDueRows(source, (due) => ({
    each: sql`(SELECT count(*) FROM (SELECT ${due} LIMIT ${maxCounted}) due)::int`,
    together: (counts) => counts.reduce((sum, count) => sql`${sum} + ${count}`),
  }));
}

/** @returns a query over the rows of {@link countOfDueRows}: `value` is the age in seconds of the oldest due row, or 0 if no row is due */
export function ageOfDueRows(source: DataSource): Sql {
  return ofDueRows(source, (due, at) => ({
    each: sql`(SELECT ${at} ${due} ORDER BY ${at} LIMIT 1)`,
    together: (times) => sql`coalesce(extract(epoch FROM clock_timestamp() - least(${list(times)})), 0)::float`,
  }));
}

/**
 * @param ask is called for each kind of due rows, with the SQL `FROM … WHERE …` of this kind and its column for the time. It returns two
 * pieces of SQL: `each` is the value for this kind, and `together` combines the values of all kinds.
 */
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
