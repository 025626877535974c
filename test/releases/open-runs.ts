/**
 * Lets the run of every waiting row continue to its end. The real workflows and activities run on a simulated Temporal without a network
 * (test/proofs/simulation). When no task remains, the simulation moves its clock to the next event.
 */
import { startsOf } from '../toolkit/drive/facts.ts';
import { mock } from 'node:test';
import { MockActivityEnvironment } from '@temporalio/testing';
import { readConfig } from '../../config.ts';
import { contextsInLockOrder } from '../../domain/contexts.ts';
import { cancelCampaign } from '../../domain/campaigns/states.ts';
import { removeMailDomain } from '../../domain/mail/domains/domains.ts';
import { enableEndpoint } from '../../domain/webhooks/queues/endpoint-states.ts';
import type { Id } from '../../platform/core/ids.ts';
import { dueRowsOf } from '../../platform/engine/due-rows.ts';
import { claimFacts, removeFacts } from '../../platform/engine/facts.ts';
import { overdueQueries } from '../../platform/engine/sweeper.ts';
import { removeWake, type ClaimedWake } from '../../platform/engine/wakes.ts';
import { workflowTypeNames, type Run } from '../../platform/engine/workflow-types.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { activitiesOf, nothingInjected } from '../replay/recorder.ts';
import { simulatedWorkflows } from '../proofs/simulation/temporal/module-hooks.ts';
import { SimulatedTemporal, type ActivityTask } from '../proofs/simulation/temporal/server.ts';
import { VirtualTime, type SimulatedProcess } from '../proofs/simulation/simulated-process.ts';
import { useAnswering } from '../toolkit/drive/answering.ts';
import { accepted } from '../toolkit/drive/attempts.ts';
import { roomFor } from '../toolkit/drive/relay-queue.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { useDeliveries } from '../toolkit/stack/receivers.ts';
import { closeStorage, testBucket } from '../toolkit/stack/storage.ts';
import type { Ends, Release } from './archive.ts';

const dayMs = 86_400_000;
/**
 * The runs of rows start together if the due times of the rows differ by at most this time. Rows of scenarios with skipped time are due
 * decades later.
 */
const togetherMs = 30 * dayMs;
/** After this number of failures, the function stops. Without this limit, a step that always fails would be retried forever. */
const mostFailures = 30;
/** A run that waits longer than this time counts as waiting forever. */
const patienceMs = 400 * dayMs;
/** After this number of steps, a run ends and continues as a new run with an empty history. */
const stepsOfARun = 100;

/**
 * The caller must be in a `describe`.
 * @returns a function for the tests of the `describe`. The function lets all open runs of a loaded release continue to their ends. The
 * simulated clock begins at the time of the recording
 */
export function useOpenRuns(): (release: Release) => Promise<Ends> {
  const delivering = useDeliveries();
  const answering = useAnswering();

  return async ({ objects, summary }) => {
    const from = new Date(summary.recordedAt);
    const { privateBucket, publicBucket } = readConfig().storage;
    const bucket = await testBucket();
    for (const { bucket: of, key, base64 } of objects)
      await bucket.store(key, Buffer.from(base64, 'base64'), of === 'private' ? privateBucket : publicBucket);
    answering.model().rule(() => ({ answer: ['A reef knot.'] }));
    const post = () => Promise.resolve(accepted);
    const scene = {
      delivering: { deps: (changes = {}) => delivering().deps({ post, ...changes }) },
      injected: nothingInjected(),
    };
    const alone = { carryingAfterEach: <T extends object>(activities: T) => activities };
    const byQueue = await activitiesOf(scene, alone, await answering.deps());
    mock.timers.enable({ apis: ['Date'], now: from.getTime() });
    try {
      return await letAllEnd(from, Object.assign({}, ...Object.values(byQueue)) as Activities);
    } finally {
      mock.timers.reset();
      closeStorage();
    }
  };
}

type Activities = Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>;

async function letAllEnd(from: Date, activities: Activities): Promise<Ends> {
  const deps = await testDeps();
  const { source } = deps.db;
  const time = new VirtualTime(from.getTime());
  const worker: SimulatedProcess = { name: 'worker', alive: true, standsUntil: 0, skewMs: 0 };
  const underWay = new Set<Promise<unknown>>();
  /** For each ended run: its workflow type and outcome, by the id of the workflow. */
  const ended = new Map<string, string>();
  const failures: string[] = [];

  const temporal = new SimulatedTemporal({
    time,
    workflows: await simulatedWorkflows(),
    stepsOfARun: () => stepsOfARun,
    settle: () => new Promise((resolve) => void setImmediate(resolve)),
    isGivenTwice: () => false,
    onFailedRun: (workflowId, error) => failures.push(`${workflowId}: ${String(error)}`),
    perform(_, task) {
      const performance = perform(task);
      underWay.add(performance);
      return performance;
    },
  });

  async function perform({ workflowId, workflowType, name, args }: ActivityTask): Promise<unknown> {
    const activity = activities[name];
    if (!activity) throw new Error(`There is no activity ${name}`);
    const result = await new MockActivityEnvironment().run(activity, ...args).catch((error: unknown) => {
      failures.push(`${name} of ${workflowId}: ${String(error)}`);
      throw error;
    });
    if (isEnd(result)) ended.set(workflowId, `${workflowType} ${wordOf(result.outcome)}`);
    return result;
  }

  /** Does the work of the relay. Handles facts before wakes, because facts create runs. */
  async function carry(): Promise<void> {
    for (
      let facts = await claimFacts(source, roomFor(100));
      facts.length > 0;
      facts = await claimFacts(source, roomFor(100))
    ) {
      for (const consume of contextsInLockOrder.flatMap(({ factConsumers }) => factConsumers))
        for (const caused of (await consume(deps.db, facts, new Date())).flatMap(startsOf))
          temporal.start(caused, [false]);
      await removeFacts(source, facts);
    }
    const wakes = await source.query<ClaimedWake[]>(
      `SELECT workflow_id AS "workflowId", seq, raised, priority, workflow_type AS "workflowType",
              subject_id AS "subjectId", club_id AS "clubId", attributes FROM wakes ORDER BY seq`,
    );
    for (const wake of wakes) {
      temporal.signalWithStart(wake);
      await removeWake(source, wake);
    }
  }

  const waiting = async (before: Date): Promise<Run[]> => {
    const found: Run[] = [];
    for (const { statement } of overdueQueries(source, before)) found.push(...(await deps.db.rows<Run>(statement)));
    return found;
  };

  /** @returns the time when the first row is due, or undefined if no row waits */
  async function firstDue(): Promise<number | undefined> {
    const times: number[] = [];
    for (const { at, from: rows, condition } of workflowTypeNames.flatMap((type) => dueRowsOf(source, type))) {
      const row = await deps.db.one<{ at: Date | null }>(sql`SELECT min(${at}) AS at FROM ${rows} WHERE ${condition}`);
      if (row?.at) times.push(row.at.getTime());
    }
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /**
   * Does what people would do, because some runs would otherwise wait forever: cancels paused campaigns, removes mail domains, and enables
   * endpoints.
   */
  async function decideAsPeople(): Promise<void> {
    const ofClubs = (table: string) =>
      source.query<{ id: Id; clubId: Id }[]>(`SELECT id, club_id AS "clubId" FROM ${table} ORDER BY id`);
    for (const { id, clubId } of await ofClubs(`campaigns WHERE status = 'paused'`))
      await cancelCampaign(deps, clubId, id, new Date());
    for (const { clubId } of await ofClubs('mail_domains')) await removeMailDomain(deps, clubId, new Date());
    for (const { id, clubId } of await ofClubs(`webhook_endpoints WHERE status <> 'enabled' AND deleted_at IS NULL`))
      await enableEndpoint(deps, clubId, id, new Date());
  }

  function moveTo(at: number): void {
    time.moveTo(at, { withPolls: true });
    mock.timers.setTime(at);
  }

  async function untilAllRest(): Promise<void> {
    const latest = time.now + patienceMs;
    for (;;) {
      await carry();
      const due = time.due();
      for (const timer of due) time.fire(timer);
      const actions = temporal.actions([worker], () => 0);
      for (const { run } of actions) await run();
      await Promise.allSettled(underWay);
      underWay.clear();
      await new Promise((resolve) => void setImmediate(resolve));
      if (actions.length > 0 || due.length > 0) continue;
      const next = time.next({ withPolls: true });
      if (next === undefined || next > latest || failures.length >= mostFailures) return;
      moveTo(next);
    }
  }

  await decideAsPeople();
  // When the release was recorded, Temporal already had a run for each failed step. These runs therefore start first.
  const failing = await source.query<Run[]>(
    `SELECT workflow_type AS "workflowType", split_part(workflow_id, '/', 2) AS "subjectId", NULL AS "clubId" FROM failing_steps`,
  );
  for (const run of failing) temporal.start(run);
  for (let due = await firstDue(), before; due !== undefined && due !== before; before = due, due = await firstDue()) {
    moveTo(Math.max(due, time.now));
    for (const run of await waiting(new Date(time.now + togetherMs))) temporal.start(run);
    await untilAllRest();
  }
  for (const { workflowType, subjectId } of await waiting(new Date(time.now + patienceMs)))
    failures.push(`${workflowType} ${subjectId} has not ended`);
  if (failures.length > 0) throw new Error(failures.slice(0, mostFailures).join('\n'));
  const counts = Map.groupBy(ended.values(), (end) => end);
  return Object.fromEntries([...counts.keys()].toSorted().map((end) => [end, counts.get(end)?.length ?? 0]));
}

const isEnd = (result: unknown): result is { done: true; outcome: unknown } =>
  typeof result === 'object' && result !== null && 'done' in result && result.done === true;

const wordOf = (outcome: unknown): string =>
  typeof outcome === 'object' && outcome !== null && 'status' in outcome ? String(outcome.status) : String(outcome);
