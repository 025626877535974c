import { expect } from 'chai';
import { taskQueues } from '../../platform/engine/workflow-types.ts';
import { workerOptions } from '../../worker/temporal/task-queues.ts';

describe('the options of a Temporal worker', () => {
  it('set the grace time at shutdown for each task queue (ENG-10)', () => {
    const seconds = taskQueues.map((queue) => [queue, workerOptions(queue, undefined).shutdownGraceTime / 1_000]);
    expect(Object.fromEntries(seconds)).to.deep.equal({
      webhooks: 20,
      mail: 50,
      'bulk-mail': 70,
      campaigns: 300,
      automations: 180,
      sales: 15,
      imports: 60,
      billing: 40,
      domains: 30,
      agents: 840,
      indexing: 130,
      media: 21_600,
      moves: 21_600,
      subtitles: 60,
      upkeep: 60,
    });
  });

  it('name the build as the worker’s version, with auto-upgrade', () => {
    expect(workerOptions('mail', undefined)).not.to.have.property('workerDeploymentOptions');
    expect(workerOptions('mail', { version: '0.3.0', buildId: 'abc' })).to.deep.include({
      workerDeploymentOptions: {
        version: { deploymentName: 'club-learning', buildId: 'abc' },
        useWorkerVersioning: true,
        defaultVersioningBehavior: 'AUTO_UPGRADE',
      },
    });
  });
});
