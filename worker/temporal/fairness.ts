/**
 * Finds out whether Temporal shares task queues fairly between fairness keys. No call of Temporal's API returns this setting, so this check
 * looks at the order of tasks.
 */
import { randomUUID } from 'node:crypto';
import { Client, isGrpcDeadlineError, type Connection, type WorkflowHandle } from '@temporalio/client';

/**
 * The numbers of started runs: first `before` runs with the first key, then `after` runs with the second key. Each partition of a queue
 * first dispatches about ten tasks that it has already read. So 40 runs with the first key would be too few. In a measurement of 300 runs
 * with fairness, the tasks of the second key came at positions 13 to 56. Without fairness they came at positions 261 to 295.
 */
const runs = { before: 300, after: 4 } as const;
/** Small, because a shared server limits the starts. */
const concurrentStarts = 50;
/**
 * The number of concurrent polls. A poll reads one partition, and waits while this partition is empty. Meanwhile the other polls can read
 * the other partitions.
 */
const pollers = 4;
const pollMs = 3_000;
const withinMs = 60_000;

/**
 * Starts runs on a new task queue, which no other process polls, and checks the order of their tasks. The check ends all its runs. They
 * stay visible until the namespace deletes closed runs.
 * @returns `fair` if the tasks of both keys are mixed, `unfair` if not, and `unknown` if too few tasks came
 */
export async function lookForFairness(
  connection: Connection,
  namespace: string,
): Promise<'fair' | 'unfair' | 'unknown'> {
  const { workflow } = new Client({ connection, namespace });
  const queue = `doctor-${randomUUID()}`;
  const started: WorkflowHandle[] = [];
  const start = async (key: string, nth: number) => {
    const options = { workflowId: `${queue}-${key}-${nth}`, taskQueue: queue, priority: { fairnessKey: key } };
    // If this process is killed before it ends the run, the execution timeout ends the run.
    started.push(
      await workflow.start('doctor', { ...options, workflowTaskTimeout: '60s', workflowExecutionTimeout: '5m' }),
    );
  };
  try {
    await inBatches(runs.before, (nth) => start('before', nth));
    await inBatches(runs.after, (nth) => start('after', nth));
    return judge(await orderOfTasks(connection, namespace, queue));
  } finally {
    await inBatches(started.length, async (nth) => void (await started[nth]?.terminate('The check has finished.')));
  }
}

async function inBatches(count: number, work: (nth: number) => Promise<void>): Promise<void> {
  for (let from = 0; from < count; from += concurrentStarts)
    await Promise.all(Array.from({ length: Math.min(concurrentStarts, count - from) }, (_, nth) => work(from + nth)));
}

/**
 * @returns the ids of runs in the order of their tasks. The list ends when all runs with the second key have come, or after the time limit.
 */
async function orderOfTasks(connection: Connection, namespace: string, queue: string): Promise<string[]> {
  const runIds: string[] = [];
  const endsAt = Date.now() + withinMs;
  const isOver = () =>
    runIds.filter((id) => id.startsWith(`${queue}-after`)).length === runs.after || Date.now() > endsAt;
  const poll = async () => {
    while (!isOver()) {
      try {
        const { workflowExecution } = await connection.withDeadline(Date.now() + pollMs, () =>
          connection.workflowService.pollWorkflowTaskQueue({
            namespace,
            taskQueue: { name: queue },
            identity: 'doctor',
          }),
        );
        if (workflowExecution?.workflowId) runIds.push(workflowExecution.workflowId);
      } catch (error) {
        if (!isGrpcDeadlineError(error)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: pollers }, poll));
  return runIds;
}

/**
 * Judges by the first run with the second key. It comes in the first half of all runs if fairness is on, and at the end if fairness is off.
 * The other runs with this key are no evidence: on a busy machine a poll can end while its task arrives, and Temporal sends such a task
 * again after a minute.
 */
function judge(runIds: readonly string[]): 'fair' | 'unfair' | 'unknown' {
  const positions = runIds.flatMap((id, position) => (id.includes('-after-') ? [position] : []));
  if (positions.length < runs.after) return 'unknown';
  return Math.min(...positions) < (runs.before + runs.after) / 2 ? 'fair' : 'unfair';
}
