/** Finds work that hangs: overdue rows by the rules of the sweeper, and runs whose row is missing. */
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { DataSource } from 'typeorm';
import { columnOf } from '../../../../platform/engine/due-rows.ts';
import { overdueMs, overdueQueries } from '../../../../platform/engine/sweeper.ts';
import {
  workflowTypeNames,
  workflowTypes,
  type Run,
  type WorkflowType,
} from '../../../../platform/engine/workflow-types.ts';
import { Database } from '../../../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../../../platform/infra/postgres/notifications.ts';
import { raw, sql } from '../../../../platform/infra/postgres/sql.ts';

/** @returns a line for each row that waits: an overdue row, a fact or a wake that the relay has not handled, and a failed step */
export async function rowsThatWait(source: DataSource): Promise<string[]> {
  const db = databaseOn(source);
  const lines: string[] = [];
  for (const { statement } of overdueQueries(source, new Date(Date.now() - overdueMs)))
    for (const { workflowType, subjectId } of await db.rows<Run>(statement))
      lines.push(`${workflowType} ${subjectId} is overdue`);
  const others = await db.rows<{ line: string }>(sql`
    SELECT 'fact ' || id || ' waits for the relay' AS line FROM facts
     UNION ALL SELECT 'the wake of ' || workflow_id || ' waits for the relay' FROM wakes
     UNION ALL SELECT workflow_id || ' fails: ' || error_code FROM failing_steps`);
  return [...lines, ...others.map(({ line }) => line)];
}

/** @returns a line for each open run in Temporal that has no row in Postgres */
export async function runsWithoutRow(
  source: DataSource,
  { address, namespace }: { address: string; namespace: string },
): Promise<string[]> {
  const connection = await NativeConnection.connect({ address });
  try {
    const lines: string[] = [];
    const { workflow } = new Client({ connection, namespace });
    for await (const { workflowId } of workflow.list({ query: 'ExecutionStatus = "Running"' })) {
      const [prefix = '', ...rest] = workflowId.split('/');
      const type = workflowTypeNames.find((name) => workflowTypes[name].id === prefix);
      if (type && !(await rowExists(source, type, rest.join('/'))))
        lines.push(`${workflowId} has no row, and is still open`);
    }
    return lines;
  } finally {
    await connection.close();
  }
}

async function rowExists(source: DataSource, type: WorkflowType, subjectId: string): Promise<boolean> {
  const { entity, key } = workflowTypes[type];
  const row = await databaseOn(source).one(
    sql`SELECT 1 FROM ${raw(source.getMetadata(entity).tableName)} row WHERE ${columnOf(source, type, key)}::text = ${subjectId}`,
  );
  return row !== undefined;
}

const databaseOn = (source: DataSource) =>
  new Database(
    source,
    createNotifier(source, () => {}),
  );
