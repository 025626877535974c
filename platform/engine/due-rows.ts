/** SQL for the rows that need a running workflow, from the table of workflow types. */
import type { DataSource } from 'typeorm';
import { isFailing } from './faults.ts';
import { workflowTypeNames, workflowTypes, type WorkflowType } from './workflow-types.ts';

interface DueRows {
  /** `FROM` without the keyword; the table is `row`. */
  from: string;
  /** The column with the time. */
  at: string;
  /** Whether a row counts whose time has come: it wants its run, and no worker has leased it. */
  condition: string;
}

/** @returns one of these for each `due` of the type */
export function dueRowsOf(source: DataSource, type: WorkflowType): DueRows[] {
  const { entity, due } = workflowTypes[type];
  const { tableName } = source.getMetadata(entity);
  return due.map(({ at, where, join, leased }) => ({
    from: [`${tableName} row`, ...(join === undefined ? [] : [join])].join(' '),
    at: columnOf(source, type, at),
    condition: [
      ...(where === null ? [] : [`(${where})`]),
      ...(leased ? ['(row.lease_until IS NULL OR row.lease_until < clock_timestamp())'] : []),
      'true',
    ].join(' AND '),
  }));
}

/** @returns `row.next_attempt_at` for `nextAttemptAt` */
export function columnOf(source: DataSource, type: WorkflowType, property: string): string {
  const column = source.getMetadata(workflowTypes[type].entity).findColumnWithPropertyName(property);
  if (!column) throw new Error(`${workflowTypes[type].entity.name} has no column ${property}`);
  return `row.${column.databaseName}`;
}

/** Counting goes no further: a count over millions of rows would take longer than the next scrape is away. */
const maxCounted = 10_000;

/**
 * @returns a query of the rows that are due now, without those that wait out the pause after a fault: `label` is the workflow
 *   type, `value` how many, up to 10,000 of each query
 */
export function countOfDueRows(source: DataSource): string {
  return workflowTypeNames
    .map((type) => {
      const subject = columnOf(source, type, workflowTypes[type].key);
      const failing = isFailing(type, subject, 'clock_timestamp()');
      const counts = dueRowsOf(source, type).map(
        ({ from, at, condition }) =>
          `(SELECT count(*) FROM (SELECT FROM ${from} WHERE ${at} < clock_timestamp() AND ${condition} AND NOT ${failing} LIMIT ${maxCounted}) due)::int`,
      );
      return `SELECT '${type}' AS label, ${counts.join(' + ')} AS value`;
    })
    .join('\n UNION ALL ');
}
