/** Every row that waits for its run goes on to its end, by the real workflows and activities on a server that skips time. */
import { removeMailDomain } from '../../domain/mail/domains/domains.ts';
import { overdueQueries } from '../../platform/engine/sweeper.ts';
import { removeWake, type ClaimedWake } from '../../platform/engine/wakes.ts';
import { workflowIdOf, type Run } from '../../platform/engine/workflow-types.ts';
import { Queries } from '../../platform/infra/postgres/database.ts';
import { activitiesOf, nothingInjected } from '../replay/recorder.ts';
import { useAnswering } from '../toolkit/drive/answering.ts';
import { accepted } from '../toolkit/drive/attempts.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';
import { useDeliveries } from '../toolkit/stack/receivers.ts';
import { useTimeSkipping } from '../toolkit/stack/time-skipping.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';
import type { OpenRun } from './archive.ts';

/** One queue for all: a worker of each queue would load the workflows once more. */
const taskQueue = 'releases';

/** After every time that a row can wait for. */
const theEnd = new Date('9999-01-01T00:00:00Z');

/**
 * Call it in a `describe`.
 * @returns for use inside its tests: starts the run of every row that waits for one, and lets time pass until all have ended;
 *   the rows in the order of their workflow ids, and how each ended
 */
export function useOpenRuns(): () => Promise<OpenRun[]> {
  const environment = useTimeSkipping();
  const delivering = useDeliveries();
  const answering = useAnswering();
  const ended = new Map<string, OpenRun>();

  /** As the relay and the sweeper do. Started ones look again. */
  async function start(run: Run): Promise<void> {
    const { workflowType, subjectId } = run;
    const workflowId = workflowIdOf(workflowType, subjectId);
    await environment().client.workflow.signalWithStart(workflowType, {
      workflowId,
      taskQueue,
      args: [subjectId],
      signal: 'lookAgain',
      signalArgs: [],
    });
    if (!ended.has(workflowId)) ended.set(workflowId, { workflowType, subjectId, outcome: undefined });
  }

  /** One at a time: activities that end together must not carry the same wake. */
  let carried: Promise<void> = Promise.resolve();
  function carry(): Promise<void> {
    const own = carried.then(carryWakes);
    carried = own.catch(() => {});
    return own;
  }

  async function carryWakes(): Promise<void> {
    const source = await testDatabase();
    for (;;) {
      const wakes = await source.query<ClaimedWake[]>(
        `SELECT workflow_id AS "workflowId", seq, raised, priority, workflow_type AS "workflowType",
                subject_id AS "subjectId", club_id AS "clubId", attributes FROM wakes`,
      );
      if (wakes.length === 0) return;
      for (const wake of wakes) {
        await start(wake);
        await removeWake(source, wake);
      }
    }
  }

  /** Each activity ends only when what it woke was signaled: time stands while it is under way. */
  const carryingAfterEach = <Activities extends object>(activities: Activities) =>
    Object.fromEntries(
      Object.entries(activities).map(([name, activity]: [string, (...args: unknown[]) => Promise<unknown>]) => [
        name,
        async (...args: unknown[]) => {
          const result = await activity(...args);
          await carry();
          return result;
        },
      ]),
    ) as Activities;

  async function startAll(): Promise<void> {
    await carry();
    const source = await testDatabase();
    const db = new Queries(source.manager);
    for (const { statement } of overdueQueries(source, theEnd))
      for (const run of await db.rows<Run>(statement)) await start(run);
  }

  /** A mail domain is looked at for as long as its club has it. */
  async function giveUpDomains(): Promise<void> {
    const { db } = await testDeps();
    for (const { clubId } of await db.source.query<{ clubId: string }[]>(
      `SELECT club_id AS "clubId" FROM mail_domains`,
    ))
      await removeMailDomain({ db }, clubId, new Date());
  }

  return async () => {
    ended.clear();
    const given = {
      delivering: {
        deps: (changes = {}) => delivering().deps({ post: () => Promise.resolve(accepted), ...changes }),
      },
      injected: nothingInjected(),
    };
    const byQueue = await activitiesOf(
      given,
      { carryingAfterEach: (activities) => activities },
      await answering.deps(),
    );
    const activities = carryingAfterEach(Object.assign({}, ...Object.values(byQueue)) as object);
    const worker = await runWorkerHere(environment().nativeConnection, { taskQueue, activities });
    try {
      await startAll();
      await giveUpDomains();
      // One after the other: the server knows one caller at a time who lets time pass. A run may start further ones.
      for (let waited = 0; waited < ended.size; waited++) {
        const [workflowId, run] = [...ended][waited] ?? [];
        if (workflowId === undefined || run === undefined) break;
        const outcome: unknown = await environment().client.workflow.getHandle(workflowId).result();
        ended.set(workflowId, { ...run, outcome: outcome ?? null });
      }
    } finally {
      await worker.stop();
    }
    return [...ended].toSorted(([one], [other]) => one.localeCompare(other)).map(([, run]) => run);
  };
}
