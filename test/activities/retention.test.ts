import { mock } from 'node:test';
import { expect } from 'chai';
import { retentionActivities } from '../../activities/retention.ts';
import { contextsInLockOrder } from '../../domain/contexts.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { testObjectStore } from '../toolkit/stack/storage.ts';

describe('a round of retention', () => {
  afterEach('let the jobs go', () => mock.restoreAll());

  it('runs every job, also where one fails, and fails with the first error after all', async () => {
    const jobs = contextsInLockOrder.flatMap(({ retention }) => retention);
    const ran: number[] = [];
    for (const [place, job] of jobs.entries())
      mock.method(job, 'run', async () => {
        ran.push(place);
        if (place === 3 || place === 7) throw new Error(`job ${place}`);
        return { rows: {}, more: false };
      });
    const { retain } = retentionActivities({ ...(await testDeps()), storage: await testObjectStore() });
    const failure: unknown = await retain(Date.now()).catch((error: unknown) => error);
    expect(ran.toSorted((a, b) => a - b)).to.deep.equal(jobs.map((_, place) => place));
    expect(failure).to.be.an.instanceOf(Error).with.property('message', 'job 3');
  });
});
