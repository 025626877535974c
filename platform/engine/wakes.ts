/** Wakes: the runs of these rows must look again, and are started where there are none (ENG-3). */
import { noClub } from '../core/ids.ts';
import type { Transaction } from '../infra/postgres/database.ts';
import { sql } from '../infra/postgres/sql.ts';
import { priorityOf, runOf, workflowIdOf, type Run, type Subject, type WorkflowType } from './workflow-types.ts';

/** Wakes the runs of rows that this transaction made due. A wake that is not sent yet is raised, not doubled. */
export async function wake<T extends WorkflowType>(
  tx: Transaction,
  type: T,
  subjects: readonly Subject<T>[],
  now: Date,
): Promise<void> {
  await wakeRuns(
    tx,
    subjects.map((subject) => runOf(type, subject)),
    now,
  );
}

/** As `wake`, for runs of several types. */
export async function wakeRuns(tx: Transaction, runs: readonly Run[], now: Date): Promise<void> {
  if (runs.length === 0) return;
  // Sorted, so that two transactions that wake the same workflows lock the rows in one order.
  const sorted = runs
    .map((run) => ({ ...run, workflowId: workflowIdOf(run.workflowType, run.subjectId) }))
    .toSorted((a, b) => (a.workflowId < b.workflowId ? -1 : 1));
  const rows = sorted.map((run) => ({ ...run, clubId: run.clubId ?? noClub, priority: priorityOf(run) }));
  await tx.run(
    sql`INSERT INTO wakes (workflow_id, workflow_type, subject_id, club_id, attributes, recorded_at, priority)
     SELECT one->>'workflowId', one->>'workflowType', (one->>'subjectId')::uuid, (one->>'clubId')::uuid, one->'attributes', ${now}::timestamptz, (one->>'priority')::smallint
       FROM jsonb_array_elements(${JSON.stringify(rows)}::jsonb) AS one
     ON CONFLICT (workflow_id) DO UPDATE SET seq = nextval('wakes_seq_seq'), raised = true, due_at = least(wakes.due_at, clock_timestamp()),
       priority = least(wakes.priority, excluded.priority)`,
  );
  tx.notifyRelay();
}
