/** Deletes workflow runs in Temporal while they work or wait, as if Temporal had lost them. */
import { Client, Connection } from '@temporalio/client';
import type { WorkflowType } from '../../../platform/engine/workflow-types.ts';

export interface Forgetful {
  readonly forgotten: number;
  forgetThird(): Promise<number>;
  close(): Promise<void>;
}

export async function forgetfulEngine(
  { address, namespace }: { address: string; namespace: string },
  types: readonly WorkflowType[],
): Promise<Forgetful> {
  const openRuns = `WorkflowType IN (${types.map((type) => `'${type}'`).join(', ')}) AND ExecutionStatus = 'Running'`;
  const connection = await Connection.connect({ address });
  const { workflow } = new Client({ connection, namespace });
  let forgotten = 0;

  return {
    get forgotten() {
      return forgotten;
    },
    async forgetThird() {
      const open: { workflowId: string; runId: string }[] = [];
      for await (const { workflowId, runId } of workflow.list({ query: openRuns })) open.push({ workflowId, runId });
      const chosen = shuffled(open).slice(0, Math.ceil(open.length / 3));
      const deleted = await Promise.all(
        chosen.map(({ workflowId, runId }) =>
          connection.workflowService
            .deleteWorkflowExecution({ namespace, workflowExecution: { workflowId, runId } })
            .then(
              () => true,
              () => false, // the run ended just before
            ),
        ),
      );
      const count = deleted.filter(Boolean).length;
      forgotten += count;
      return count;
    },
    close: () => connection.close(),
  };
}

function shuffled<T>(values: readonly T[]): T[] {
  return values
    .map((value) => ({ value, key: Math.random() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ value }) => value);
}
