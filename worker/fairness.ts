/** Whether Temporal shares task queues out by fairness keys: seen by what it does, because no call tells its settings. */
import { randomUUID } from 'node:crypto';
import { Client, isGrpcDeadlineError, type Connection } from '@temporalio/client';

/** Runs of one key that wait, and then of the other: enough that each of the queue's partitions has some. */
const runs = { before: 40, after: 4 } as const;
/** Polls at a time: the server asks a partition at a time, and one without tasks keeps a poll waiting. */
const pollers = 4;
const pollMs = 3_000;
const withinMs = 30_000;

/**
 * Starts runs on a task queue of its own, which nobody else polls, and looks in which order their tasks come. Its runs end with it,
 * and can be read until the namespace forgets closed runs.
 * @returns `fair` where those of the later key come about in turn with the earlier ones; `unfair`; `unknown` where too few came
 */
export async function lookForFairness(
  connection: Connection,
  namespace: string,
): Promise<'fair' | 'unfair' | 'unknown'> {
  const { workflow } = new Client({ connection, namespace });
  const queue = `doctor-${randomUUID()}`;
  const start = (key: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, nth) =>
        workflow.start('doctor', {
          workflowId: `${queue}-${key}-${nth}`,
          taskQueue: queue,
          workflowTaskTimeout: '60s',
          workflowExecutionTimeout: '5m', // should this process be killed
          priority: { fairnessKey: key },
        }),
      ),
    );
  const started = await start('before', runs.before);
  try {
    started.push(...(await start('after', runs.after)));
    return judge(await orderOfTasks(connection, namespace, queue));
  } finally {
    await Promise.all(started.map((run) => run.terminate('the doctor has seen enough')));
  }
}

/** @returns the ids of runs in the order in which their tasks came, until all of the later key have */
async function orderOfTasks(connection: Connection, namespace: string, queue: string): Promise<string[]> {
  const came: string[] = [];
  const endsAt = Date.now() + withinMs;
  const isOver = () =>
    came.filter((id) => id.startsWith(`${queue}-after`)).length === runs.after || Date.now() > endsAt;
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
        if (workflowExecution?.workflowId) came.push(workflowExecution.workflowId);
      } catch (error) {
        if (!isGrpcDeadlineError(error)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: pollers }, poll));
  return came;
}

/** By the mean place of the later ones: in turn they come in the first half, one behind the other in the last. */
function judge(came: readonly string[]): 'fair' | 'unfair' | 'unknown' {
  const places = came.flatMap((id, place) => (id.includes('-after-') ? [place] : []));
  if (places.length < runs.after) return 'unknown';
  const mean = places.reduce((sum, place) => sum + place, 0) / places.length;
  return mean < (runs.before + runs.after) / 2 ? 'fair' : 'unfair';
}
