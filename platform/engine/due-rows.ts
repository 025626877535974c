/** SQL for the rows that need a running workflow, from the table of workflow types. */
import type { DataSource } from 'typeorm';
import { all, raw, sql, union, type Sql } from '../infra/postgres/sql.ts';
import { isFailing } from './faults.ts';
import { workflowTypeNames, workflowTypes, type WorkflowType } from './workflow-types.ts';

interface DueRows {
  /** `FROM` without the keyword; the table is `row`. */
  from: Sql;
  /** The column with the time. */
  at: Sql;
  /** Whether a row counts whose time has come: it wants its run, and no worker has leased it. */
  condition: Sql;
}

/** @returns one of these for each `due` of the type */
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

/** Counting goes no further: a count over millions of rows would take longer than the next scrape is away. */
const maxCounted = 10_000;

/**
 * @returns a query of the rows that are due now, without those that wait out the pause after a fault: `label` is the workflow
 *   type, `value` how many, up to 10,000 of each query
 */
export function countOfDueRows(source: DataSource): Sql {
  return union(
    workflowTypeNames.map((type) => {
      const failing = isFailing(type, columnOf(source, type, workflowTypes[type].key), sql`clock_timestamp()`);
      const counts = dueRowsOf(source, type).map(
        ({ from, at, condition }) =>
          sql`(SELECT count(*) FROM (SELECT FROM ${from} WHERE ${at} < clock_timestamp() AND ${condition} AND NOT ${failing}
                LIMIT ${maxCounted}) due)::int`,
      );
      return sql`SELECT ${type}::text AS label, ${counts.reduce((sum, count) => sql`${sum} + ${count}`)} AS value`;
    }),
  );
}
