/** Tests that each workflow runs on the right build before and after a promotion. The tests use two builds and a real Temporal server. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';
import { NativeConnection, Worker } from '@temporalio/worker';
import { expect } from 'chai';
import { readConfig } from '../../config.ts';
import { newId } from '../../platform/core/ids.ts';
import { StartProblem } from '../../platform/core/start-problem.ts';
import { isPromoted } from '../../platform/engine/releases.ts';
import { workflowIdOf, type Run } from '../../platform/engine/workflow-types.ts';
import type { Build } from '../../platform/infra/build.ts';
import { Database } from '../../platform/infra/postgres/database.ts';
import { promote } from '../../commands/promote.ts';
import { workerOptions } from '../../worker/temporal/task-queues.ts';
import { createWorkflowClient, type WorkflowClient } from '../../worker/temporal/workflow-client.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { quietRuntime } from '../toolkit/stack/time-skipping.ts';
import { workflowBundle } from '../toolkit/stack/worker.ts';

const { VersionDrainageStatus, WorkerDeploymentVersionStatus } = proto.temporal.api.enums.v1;
/** The states of a version (in Temporal's words) in which the version can be deleted if no worker polls. */
const over = {
  drained: { drainageStatus: VersionDrainageStatus.VERSION_DRAINAGE_STATUS_DRAINED },
  'never promoted': { status: WorkerDeploymentVersionStatus.WORKER_DEPLOYMENT_VERSION_STATUS_INACTIVE },
};
const builds = { a: { version: '0.3.0', buildId: 'a' }, b: { version: '0.4.0', buildId: 'b' } } as const;
const queues = ['webhooks', 'mail'] as const;

describe('worker/promote (ENG-19)', function () {
  this.timeout(60_000);
  const namespace = `promote-${randomUUID()}`;
  let connection: Connection;
  let db: Database;
  let notified = 0;
  /** For each run: the builds that ran its steps, in order. */
  const steps = new Map<string, string[]>();
  const stops: (() => Promise<void>)[] = [];
  const clients = new Map<string, WorkflowClient>();

  before('create a namespace', async () => {
    await testStack();
    quietRuntime();
    connection = await Connection.connect({ address: readConfig().temporal.address });
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: msToTs('1 day'),
    });
    db = new Database(await testDatabase(), { notify: () => void notified++ });
  });
  after('stop the workers', async () => {
    await Promise.all(stops.map((stop) => stop()));
    await connection.close();
  });

  /** Starts workers of a build on these queues. Each run has two steps, and waits for a signal between the steps. */
  async function startWorkers(build: Build, ...served: (typeof queues)[number][]) {
    const native = await NativeConnection.connect({ address: readConfig().temporal.address });
    if (served.includes('webhooks')) clients.set(build.buildId, createWorkflowClient(native, namespace));
    const take = (id: string) => {
      const stepBuilds = [...(steps.get(id) ?? []), build.buildId];
      steps.set(id, stepBuilds);
      return Promise.resolve(
        stepBuilds.length < 2
          ? { done: false, doing: 'recovering', parked: 0, at: Date.now() + 86_400_000 }
          : { done: true, outcome: 'processed' },
      );
    };
    const workers = await Promise.all(
      served.map(async (queue) =>
        Worker.create({
          ...workerOptions(queue, build),
          connection: native,
          namespace,
          workflowBundle: await workflowBundle(),
          activities: { tendGate: take },
        }),
      ),
    );
    const running = Promise.all(workers.map((worker) => worker.run()));
    stops.push(async () => {
      for (const worker of workers) worker.shutdown();
      await running;
      await native.close();
    });
  }

  const depsOf = (build: Build, lines: string[] = []) => ({
    connection,
    namespace,
    db,
    build,
    queues,
    say: (line: string) => void lines.push(line),
  });
  const promoted = async (build: Build) => {
    const lines: string[] = [];
    await promote(depsOf(build, lines));
    return lines;
  };
  const gate = (): Run => ({ workflowType: 'endpointGate', subjectId: newId(), clubId: null, attributes: {} });
  const stepsOf = ({ subjectId }: Run) => steps.get(subjectId) ?? [];
  const client = () => new Client({ connection, namespace }).workflow;
  /** Starts a run on its queue, like an API or a relay on a different machine. */
  const begin = async (run: Run) => {
    await client().start(run.workflowType, {
      workflowId: workflowIdOf(run.workflowType, run.subjectId),
      taskQueue: 'webhooks',
      args: [run.subjectId],
    });
    return run;
  };
  const untilSteps = (run: Run, count: number) =>
    until(`${count} steps`, { timeoutMs: 20_000 }, () => Promise.resolve(stepsOf(run).length === count));
  const lookAgain = (run: Run) => client().getHandle(workflowIdOf(run.workflowType, run.subjectId)).signal('lookAgain');
  const rows = () =>
    db.source.query<unknown[]>(`SELECT build_id, version, is_current FROM releases ORDER BY promoted_at`);
  const currentOf = async () => {
    const { workerDeploymentInfo } = await connection.workflowService.describeWorkerDeployment({
      namespace,
      deploymentName: 'club-learning',
    });
    return workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId;
  };

  it('starts no run before the first promotion, and then starts all waiting runs', async () => {
    await startWorkers(builds.a, 'webhooks', 'mail');
    const waiting = await begin(gate());
    await sleep(1_000); // If a worker served the run, it would start within some milliseconds.
    expect(stepsOf(waiting)).to.deep.equal([]);
    expect(await isPromoted(db, 'a', new Date(0))).to.equal(false);
    expect((await promoted(builds.a)).slice(-2)).to.deep.equal([
      'The workers of version 0.3.0, build a, poll all 2 task queues.',
      'Build a is current.',
    ]);
    await untilSteps(waiting, 1);
    expect(stepsOf(waiting)).to.deep.equal(['a']);
    expect(await rows()).to.deep.equal([{ build_id: 'a', version: '0.3.0', is_current: true }]);
    expect(await isPromoted(db, 'a', new Date(0))).to.equal(true);
    expect(notified).to.equal(1);
  });

  it('waits for workers on every task queue, and names the queues without workers', async () => {
    await startWorkers(builds.b, 'webhooks');
    const problem = await promote({ ...depsOf(builds.b), withinMs: 1_000 }).catch((error: unknown) => error);
    expect(problem).to.be.instanceOf(StartProblem);
    expect((problem as Error).message).to.equal(
      'no worker of build b polls mail: are its workers up, and does one of them serve each task queue (WORKER_TASK_QUEUES)?',
    );
    expect([await currentOf(), await rows()]).to.deep.equal([
      'a',
      [{ build_id: 'a', version: '0.3.0', is_current: true }],
    ]);
  });

  it('moves open runs to the new build at their next step, and starts new runs on the new build', async () => {
    const open = await begin(gate());
    await untilSteps(open, 1);
    await startWorkers(builds.b, 'mail');
    expect((await promoted(builds.b)).at(-1)).to.equal('Build b is current, and replaces version 0.3.0, build a.');
    await lookAgain(open);
    await untilSteps(open, 2);
    expect(stepsOf(open)).to.deep.equal(['a', 'b']);
    const fresh = await begin(gate());
    await untilSteps(fresh, 1);
    expect(stepsOf(fresh)).to.deep.equal(['b']);
    expect(await rows()).to.deep.equal([
      { build_id: 'a', version: '0.3.0', is_current: false },
      { build_id: 'b', version: '0.4.0', is_current: true },
    ]);
  });

  it('changes nothing when it is repeated', async () => {
    const before = await db.source.query('SELECT * FROM releases ORDER BY build_id');
    expect((await promoted(builds.b)).at(-1)).to.equal('Build b is current.');
    expect(await db.source.query('SELECT * FROM releases ORDER BY build_id')).to.deep.equal(before);
  });

  it('makes an earlier build current again when that build is promoted again', async () => {
    const open = await begin(gate());
    await untilSteps(open, 1);
    expect((await promoted(builds.a)).at(-1)).to.equal('Build a is current, and replaces version 0.4.0, build b.');
    await lookAgain(open);
    await untilSteps(open, 2);
    expect(stepsOf(open)).to.deep.equal(['b', 'a']);
  });

  it('lets a process run the first task of a workflow that it starts eagerly, on any build', async () => {
    const run = gate();
    expect([await clients.get('b')?.start(run, []), await currentOf()]).to.deep.equal(['here', 'a']);
    await untilSteps(run, 1);
  });

  /** Returns a connection that answers the given calls itself, and passes all other calls to the server. */
  const altered = (calls: Partial<Record<string, (request: never) => Promise<unknown>>>): Connection => {
    const workflowService = new Proxy(connection.workflowService, {
      get: (service, name) =>
        calls[String(name)] ?? (Reflect.get(service, name) as (...args: unknown[]) => unknown).bind(service),
    });
    return new Proxy(connection, {
      get: (real, name) => (name === 'workflowService' ? workflowService : Reflect.get(real, name, real)),
    });
  };

  /**
   * Returns a connection whose answers give every version the fields of `how`.
   * @param remove the function that runs instead of the deletion of a version
   */
  const allAre = (how: object, remove?: (buildId: string) => void): Connection =>
    altered({
      async describeWorkerDeployment(request: object) {
        const answer = await connection.workflowService.describeWorkerDeployment(request);
        for (const one of answer.workerDeploymentInfo?.versionSummaries ?? []) Object.assign(one, how);
        return answer;
      },
      ...(remove && {
        deleteWorkerDeploymentVersion: async ({ deploymentVersion }: { deploymentVersion: { buildId: string } }) =>
          remove(deploymentVersion.buildId),
      }),
    });

  it('sets the current version again if a second promotion changes it in the meantime', async () => {
    await promoted(builds.b);
    let isOvertaken = false;
    const overtaken = altered({
      async describeWorkerDeployment(request: object) {
        const [current] = await db.source.query<{ build_id: string }[]>(
          `SELECT build_id FROM releases WHERE is_current`,
        );
        if (!isOvertaken && current?.build_id === 'a') {
          isOvertaken = true;
          await promoted(builds.b);
        }
        return connection.workflowService.describeWorkerDeployment(request);
      },
    });
    await promote({ ...depsOf(builds.a), connection: overtaken });
    expect([isOvertaken, await currentOf()]).to.deep.equal([true, 'a']);
    expect(await rows()).to.deep.include({ build_id: 'a', version: '0.3.0', is_current: true });
  });

  it('waits in a new namespace until Temporal’s own worker polls for tasks', async () => {
    const lines: string[] = [];
    let refusals = 0;
    const young = altered({
      async describeWorkerDeployment(request: object) {
        if (refusals++ < 2)
          throw Object.assign(new Error('9 FAILED_PRECONDITION'), {
            code: 9,
            details: 'no poller seen for task queue recently, worker may be down',
            metadata: {},
          });
        return connection.workflowService.describeWorkerDeployment(request);
      },
    });
    await promote({ ...depsOf(builds.a, lines), connection: young });
    expect(lines.at(-1)).to.equal('Build a is current.');
  });

  it('keeps a version without open runs while its workers poll, for a rollback', async () => {
    const lines: string[] = [];
    await promote({ ...depsOf(builds.a, lines), connection: allAre(over.drained) });
    expect(lines).to.deep.equal([
      'The workers of version 0.3.0, build a, poll all 2 task queues.',
      'Build a is current.',
    ]);
    expect(await isPromoted(db, 'b', new Date(0))).to.equal(true);
  });

  for (const [what, how] of Object.entries(over))
    it(`deletes other versions (${what}) in Temporal and the database before it waits for workers`, async () => {
      const lines: string[] = [];
      const deleted: string[] = [];
      await promote({ ...depsOf(builds.a, lines), connection: allAre(how, (buildId) => deleted.push(buildId)) });
      expect([deleted[0], lines[0]]).to.deep.equal(['b', 'Deleted obsolete versions: b.']);
      expect(await rows()).to.deep.equal([{ build_id: 'a', version: '0.3.0', is_current: true }]);
    });
});
