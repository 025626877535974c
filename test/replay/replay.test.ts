import { Worker, type ReplayResult } from '@temporalio/worker';
import { expect } from 'chai';
import { committedHistories, recorder } from '../toolkit/drive/replay.ts';
import { quietRuntime } from '../toolkit/stack/time-skipping.ts';
import { workflowBundle } from '../toolkit/stack/worker.ts';
import * as workflows from '../../workflows/index.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

/** Replays the committed histories with the current workflows. record.ts records the histories, and says when to do so. */
describe('replay of committed histories', function () {
  this.timeout(60_000);
  const committed = committedHistories().map((history) => ({
    ...history,
    workflowId: `${history.type}/${history.scenario}`,
  }));
  const results = new Map<string, ReplayResult>();

  before('replay them all', async () => {
    quietRuntime();
    const histories = committed.map(({ workflowId, read }) => ({ workflowId, history: read() }));
    const options = { workflowBundle: await workflowBundle() };
    for await (const result of Worker.runReplayHistories(options, histories)) results.set(result.workflowId, result);
  });

  for (const type of Object.keys(workflows)) {
    it(`includes at least one history of ${type}`, () => {
      expect(committed.map((history) => history.type)).to.include(type);
    });
  }

  for (const { workflowId } of committed) {
    it(`replays ${workflowId} with today’s code`, () => {
      expect(results.has(workflowId)).to.equal(true);
      expect(results.get(workflowId)?.error).to.equal(undefined);
    });
  }

  it('fails for a history that does not match the code', async () => {
    const history = committed.find(({ workflowId }) => workflowId === 'webhookDelivery/failure-then-success')?.read();
    const scheduled = history?.events?.find((event) => event.activityTaskScheduledEventAttributes);
    if (scheduled?.activityTaskScheduledEventAttributes) {
      scheduled.activityTaskScheduledEventAttributes.activityType = { name: 'somethingElse' };
    }
    const replaying = Worker.runReplayHistory({ workflowBundle: await workflowBundle() }, history);
    const error = await replaying.catch((failure: unknown) => failure);
    expect(error).to.have.property('name', 'DeterminismViolationError');
  });

  it('finds no name of the recording machine in any history', async () => {
    await eachCase(committed, ({ read }) => {
      const text = JSON.stringify(read());
      for (const [, identity] of text.matchAll(/"identity":"([^"]*)"/g)) expect(identity).to.equal(recorder);
      expect(text).not.to.contain('stackTrace":"');
    });
  });
});
