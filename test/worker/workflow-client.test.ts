import type { History } from '@temporalio/common/lib/proto-utils.js';
import { NativeConnection } from '@temporalio/worker';
import { expect } from 'chai';
import { readConfig } from '../../config.ts';
import { newId, noClub, type Id } from '../../platform/core/ids.ts';
import { workflowIdOf, workflowTypes, type Run, type WorkflowType } from '../../platform/engine/workflow-types.ts';
import { createWorkflowClient, isEngineAway, type WorkflowClient } from '../../worker/temporal/workflow-client.ts';
import { eventsNamed } from '../toolkit/assert/histories.ts';
import { startTemporalLine } from '../toolkit/fakes/temporal-line.ts';
import { quietRuntime } from '../toolkit/stack/time-skipping.ts';
import { useTemporal } from '../toolkit/stack/worker.ts';

describe('the workflow client', () => {
  const temporal = useTemporal();
  const startedIds: string[] = [];
  let connection: NativeConnection;
  let workflows: WorkflowClient;

  before('connect like a worker, without a running worker', async () => {
    quietRuntime();
    const { address, namespace } = readConfig().temporal;
    connection = await NativeConnection.connect({ address });
    workflows = createWorkflowClient(connection, namespace);
  });
  after('terminate the started runs, and disconnect', async () => {
    await Promise.all(
      startedIds.map((id) =>
        temporal()
          .workflow.getHandle(id)
          .terminate()
          .catch(() => {}),
      ),
    );
    await connection.close();
  });

  const runFor = (workflowType: WorkflowType, clubId: Id): Run => {
    const run = { workflowType, subjectId: newId(), clubId, attributes: {} };
    startedIds.push(workflowIdOf(workflowType, run.subjectId));
    return run;
  };
  const handleOf = ({ workflowType, subjectId }: Run) =>
    temporal().workflow.getHandle(workflowIdOf(workflowType, subjectId));
  const startedIn = (history: History) => eventsNamed(history, 'workflowExecutionStartedEventAttributes')[0];

  it('ends a call that the server does not answer', async () => {
    const line = await startTemporalLine();
    const behind = await NativeConnection.connect({ address: line.address });
    try {
      const withShortTimeout = createWorkflowClient(behind, readConfig().temporal.namespace, { callWithinMs: 500 });
      const run = runFor('agentAnswer', newId());
      line.hold();
      const failure = await withShortTimeout.start(run, []).catch((error: unknown) => error);
      expect(isEngineAway(failure)).to.equal(true);
      line.mend();
      await createWorkflowClient(behind, readConfig().temporal.namespace).startOrSignal(run);
      expect((await handleOf(run).describe()).status.name).to.equal('RUNNING');
    } finally {
      await behind.close();
      line.stop();
    }
  });

  describe('startOrSignal', () => {
    it('starts a run if no run exists', async () => {
      const run = runFor('agentAnswer', newId());
      await workflows.startOrSignal(run);
      const history = await handleOf(run).fetchHistory();
      expect(eventsNamed(history, 'workflowExecutionSignaledEventAttributes')).to.have.length(0);
      expect(eventsNamed(history, 'workflowExecutionStartedEventAttributes')).to.have.length(1);
    });

    it('signals the run if it is running', async () => {
      const run = runFor('agentAnswer', newId());
      await workflows.startOrSignal(run);
      const { runId } = await handleOf(run).describe();
      await workflows.startOrSignal(run);
      const history = await handleOf(run).fetchHistory();
      expect(eventsNamed(history, 'workflowExecutionSignaledEventAttributes')).to.have.length(1);
      expect((await handleOf(run).describe()).runId).to.equal(runId);
    });

    it('starts a new run after the last run has ended', async () => {
      const run = runFor('agentAnswer', newId());
      await workflows.startOrSignal(run);
      const { runId } = await handleOf(run).describe();
      await handleOf(run).terminate();
      await workflows.startOrSignal(run);
      const described = await handleOf(run).describe();
      expect(described.runId).not.to.equal(runId);
      expect(described.status.name).to.equal('RUNNING');
    });
  });

  it('reports whether it created a run or found one', async () => {
    const run = runFor('webhookDelivery', newId());
    expect(await workflows.start(run, [false]), 'no worker runs here').to.equal('elsewhere');
    expect(await workflows.start(run, [false])).to.equal('before');
  });

  describe('the fairness key', () => {
    const ways = [
      { way: 'a start', begin: (run: Run) => workflows.start(run, []) },
      { way: 'a signal with start', begin: (run: Run) => workflows.signalWithStart(run) },
    ];
    for (const workflowType of Object.keys(workflowTypes) as WorkflowType[]) {
      for (const { way, begin } of ways) {
        it(`is the id of the club if ${way} begins a run of ${workflowType}`, async () => {
          const run = runFor(workflowType, newId());
          await begin(run);
          expect(startedIn(await handleOf(run).fetchHistory())?.priority?.fairnessKey).to.equal(run.clubId);
          expect((await handleOf(run).describe()).priority).to.include({ fairnessKey: run.clubId });
        });
      }
    }

    for (const { way, begin } of ways)
      for (const [priority, priorityKey] of [
        [0, 1],
        [1, 3],
        [2, 5],
      ] as const)
        it(`is sent by ${way} with priority key ${priorityKey} for a run of priority ${priority}`, async () => {
          const run = { ...runFor('transactionalMail', newId()), priority };
          await begin(run);
          const { priority: sentPriority, taskQueue } = await handleOf(run).describe();
          expect(sentPriority).to.include({ priorityKey, fairnessKey: run.clubId });
          expect(taskQueue).to.equal(priority === 2 ? 'bulk-mail' : 'mail');
        });

    for (const { way, begin } of ways) {
      it(`is not sent by ${way} if the run has no club`, async () => {
        const run = runFor('transactionalMail', noClub);
        await begin(run);
        expect(startedIn(await handleOf(run).fetchHistory())?.priority?.fairnessKey ?? '').to.equal('');
      });
    }

    it('does not change when a running workflow gets a signal', async () => {
      const run = runFor('endpointGate', newId());
      await workflows.start(run, []);
      await workflows.signalWithStart(run);
      const history = await handleOf(run).fetchHistory();
      expect(eventsNamed(history, 'workflowExecutionSignaledEventAttributes')).to.have.length(1);
      expect((await handleOf(run).describe()).priority).to.include({ fairnessKey: run.clubId });
    });
  });
});
