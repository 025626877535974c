import { Worker } from '@temporalio/worker';
import { expect } from 'chai';
import { fileURLToPath } from 'node:url';
import { useTimeSkipping } from './time-skipping.ts';

describe('test/toolkit/stack/time-skipping', () => {
  const environment = useTimeSkipping();

  it('lets a workflow wait for 30 days in a moment', async () => {
    const { client, nativeConnection } = environment();
    const worker = await Worker.create({
      connection: nativeConnection,
      taskQueue: 'time-skipping',
      workflowsPath: fileURLToPath(new URL('./sleeping-workflow.ts', import.meta.url)),
    });
    const slept = await worker.runUntil(
      client.workflow.execute('sleepFor', { workflowId: 'sleeper', taskQueue: 'time-skipping', args: ['30 days'] }),
    );
    expect(slept).to.be.within(30 * 86_400_000, 30 * 86_400_000 + 60_000);
  });
});
