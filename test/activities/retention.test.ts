import { mock } from 'node:test';
import { expect } from 'chai';
import { activities } from '../../activities/index.ts';
import { ocrDeps } from '../toolkit/drive/ocr.ts';
import { retentionActivities } from '../../activities/retention.ts';
import { contextsInLockOrder } from '../../domain/contexts.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { testObjectStore } from '../toolkit/stack/storage.ts';

describe('a round of retention', () => {
  afterEach('restore the jobs', () => mock.restoreAll());

  it('runs every job even if one fails', async () => {
    const jobs = contextsInLockOrder.flatMap(({ retention }) => retention);
    const ran: number[] = [];
    for (const [index, job] of jobs.entries())
      mock.method(job, 'run', async () => {
        ran.push(index);
        if (index === 3 || index === 7) throw new Error(`job ${index}`);
        return { rows: {}, more: false };
      });
    const { retain } = retentionActivities({ ...(await testDeps()), storage: await testObjectStore() });
    const failure: unknown = await retain(Date.now()).catch((error: unknown) => error);
    expect(ran.toSorted((a, b) => a - b)).to.deep.equal(jobs.map((_, place) => place));
    expect(failure).to.be.an.instanceOf(Error).with.property('message', 'job 3');
  });

  it('tells every job whether the deployment has an OCR program', async () => {
    const values: (boolean | undefined)[] = [];
    for (const job of contextsInLockOrder.flatMap(({ retention }) => retention))
      mock.method(job, 'run', async ({ readsScans }: { readsScans?: boolean }) => {
        values.push(readsScans);
        return { rows: {}, more: false };
      });
    const deps = { ...(await testDeps()), storage: await testObjectStore() };
    await activities.retention({ ...deps, sources: { ocr: undefined } }).retain(Date.now());
    await activities.retention({ ...deps, sources: { ocr: ocrDeps(['ocr']) } }).retain(Date.now());
    expect(new Set(values.slice(0, values.length / 2))).to.deep.equal(new Set([false]));
    expect(new Set(values.slice(values.length / 2))).to.deep.equal(new Set([true]));
  });
});
