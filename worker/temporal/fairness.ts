/** Whether Temporal shares task queues out by fairness keys: seen by what it does, because no call tells its settings. */
import { randomUUID } from 'node:crypto';
import { Client, isGrpcDeadlineError, type Connection, type WorkflowHandle } from '@temporalio/client';

/**
 * Runs of one key that wait, and then of the other. Each partition of the queue gives out first what it has read already, some ten tasks:
 * with 40 runs before, order says nothing. With 300 the later ones came at place 13 to 56 in turn, at 261 to 295 behind each other.
 */
const runs = { before: 300, after: 4 } as const;
/** Starts at a time: a shared server bounds them. */
const startsAtOnce = 50;
/** Polls at a time: the server asks a partition at a time, and one without tasks keeps a poll waiting. */
const pollers = 4;
const pollMs = 3_000;
const withinMs = 60_000;

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
  const started: WorkflowHandle[] = [];
  const start = async (key: string, nth: number) => {
    const options = { workflowId: `${queue}-${key}-${nth}`, taskQueue: queue, priority: { fairnessKey: key } };
    // The longer limit: should this process be killed.
    started.push(
      await workflow.start('doctor', { ...options, workflowTaskTimeout: '60s', workflowExecutionTimeout: '5m' }),
    );
  };
  try {
    await inTurns(runs.before, (nth) => start('before', nth));
    await inTurns(runs.after, (nth) => start('after', nth));
    return judge(await orderOfTasks(connection, namespace, queue));
  } finally {
    await inTurns(started.length, async (nth) => void (await started[nth]?.terminate('the doctor has seen enough')));
  }
}

/** Does it so often, some at a time. */
async function inTurns(count: number, work: (nth: number) => Promise<void>): Promise<void> {
  for (let from = 0; from < count; from += startsAtOnce)
    await Promise.all(Array.from({ length: Math.min(startsAtOnce, count - from) }, (_, nth) => work(from + nth)));
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
