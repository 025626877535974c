/** Steps that do not begin because their club has used its share of a queue (ENG-20). */
import type { Id } from '../core/ids.ts';
import type { Queries } from '../infra/postgres/database.ts';
import { columnOf, raw, sql, tableOf } from '../infra/postgres/sql.ts';
import { workflowTypes, type WorkflowType } from './workflow-types.ts';

/** In Unix milliseconds. */
export interface PutOffStep {
  done: false;
  at: number;
  putOff: 'share';
}

/** Gives a due row a later due time, so that the sweeper does not treat it as overdue (ENG-5). */
export async function putOffRow(db: Queries, type: WorkflowType, subjectId: Id, at: Date): Promise<void> {
  const { entity, key, due } = workflowTypes[type];
  for (const { at: property, leased } of due) {
    const time = columnOf(property);
    const isFree = leased ? sql`(lease_until IS NULL OR lease_until < clock_timestamp())` : sql`true`;
    await db.run(sql`
      UPDATE ${raw(tableOf(entity))} SET ${time} = ${at}
       WHERE ${columnOf(key)} = ${subjectId} AND ${time} < ${at} AND ${isFree}`);
  }
}
