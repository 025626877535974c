import { Worker, type ReplayResult } from '@temporalio/worker';
import { expect } from 'chai';
import { committedHistories, recorder } from '../toolkit/drive/replay.ts';
import { quietRuntime } from '../toolkit/stack/time-skipping.ts';
import { workflowBundle } from '../toolkit/stack/worker.ts';
import * as workflows from '../../workflows/index.ts';

/** record.ts makes them, and says when. */
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
    it(`${type} has one at least`, () => {
      expect(committed.map((history) => history.type)).to.include(type);
    });
  }

  for (const { workflowId } of committed) {
    it(`${workflowId}: today’s code goes the same way`, () => {
      expect(results.has(workflowId)).to.equal(true);
      expect(results.get(workflowId)?.error).to.equal(undefined);
    });
  }

  it('a history that the code does not lead to is refused', async () => {
    const history = committed.find(({ workflowId }) => workflowId === 'webhookDelivery/failure-then-success')?.read();
    const scheduled = history?.events?.find((event) => event.activityTaskScheduledEventAttributes);
    if (scheduled?.activityTaskScheduledEventAttributes) {
      scheduled.activityTaskScheduledEventAttributes.activityType = { name: 'somethingElse' };
    }
    const replaying = Worker.runReplayHistory({ workflowBundle: await workflowBundle() }, history);
    const error = await replaying.catch((failure: unknown) => failure);
    expect(error).to.have.property('name', 'DeterminismViolationError');
  });

  it('none names the machine that it was recorded on', () => {
    for (const { workflowId, read } of committed) {
      const text = JSON.stringify(read());
      const identities = [...text.matchAll(/"identity":"([^"]*)"/g)].map(([, identity]) => identity);
      expect(new Set(identities), workflowId).to.deep.equal(new Set([recorder]));
      expect(text).not.to.contain('stackTrace":"');
    }
  });
});
