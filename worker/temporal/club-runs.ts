/** Terminates the runs of a club that is erased (ERS-12). */
import { Client, WorkflowNotFoundError } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';

export interface ClubRuns {
  /**
   * Terminates running runs of the club except its erasure, at most 500 at each call.
   * @returns their workflow ids; none if Temporal lists no run. Temporal lists a new run some seconds after its start
   */
  terminateRuns(clubId: string): Promise<string[]>;
}

const runsPerCall = 500;
const atOnce = 10;
/** A call without an answer fails after this time, in milliseconds, and the step is repeated. */
const withinMs = 10_000;

export function createClubRuns(connection: NativeConnection, namespace: string): ClubRuns {
  const { workflow } = new Client({ connection, namespace });
  const within = <T>(work: () => Promise<T>) => connection.withDeadline(Date.now() + withinMs, work);
  async function list(clubId: string): Promise<{ workflowId: string; runId: string }[]> {
    const query = `ClubId = '${clubId}' AND ExecutionStatus = 'Running'`;
    const runs: { workflowId: string; runId: string }[] = [];
    for await (const { workflowId, runId } of workflow.list({ query, pageSize: runsPerCall })) {
      if (workflowId !== workflowIdOf('clubErasure', clubId)) runs.push({ workflowId, runId });
      if (runs.length === runsPerCall) break;
    }
    return runs;
  }
  /** A run that has ended meanwhile is no error. */
  async function terminate({ workflowId, runId }: { workflowId: string; runId: string }): Promise<void> {
    try {
      await within(() => workflow.getHandle(workflowId, runId).terminate('the club is erased'));
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }
  return {
    async terminateRuns(clubId) {
      const runs = await within(() => list(clubId));
      await Promise.all(
        Array.from({ length: atOnce }, async (_, first) => {
          for (let at = first; at < runs.length; at += atOnce) {
            const run = runs[at];
            if (run) await terminate(run);
          }
        }),
      );
      return runs.map(({ workflowId }) => workflowId);
    },
  };
}
