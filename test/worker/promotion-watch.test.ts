import { mock } from 'node:test';
import { expect } from 'chai';
import { makeCurrent } from '../../platform/engine/releases.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { watchPromotion } from '../../worker/reports/promotion-watch.ts';
import { testDeps } from '../toolkit/stack/database.ts';

const build = { version: '0.3.0', buildId: 'abc' };

describe('the watch over the promotion of a worker’s build (ENG-19)', () => {
  let now = 0;
  const clock = () => now;
  const onLate = mock.fn();
  beforeEach('remove the current build', async () => {
    now = 0;
    onLate.mock.resetCalls();
    await (await testDeps()).db.source.query('TRUNCATE releases');
  });

  async function watchAt(ms: number, buildId: string | undefined) {
    const { db } = await testDeps();
    const watch = watchPromotion(db, buildId, onLate, clock);
    now = ms;
    await watch.ask();
    return watch;
  }

  it('reports once, after a minute, that the promotion is late', async () => {
    const watch = await watchAt(59_999, 'abc');
    expect([watch.isInTime(), onLate.mock.callCount()]).to.deep.equal([true, 0]);
    now = 60_000;
    await watch.ask();
    await watch.ask();
    expect([watch.isInTime(), onLate.mock.callCount()]).to.deep.equal([false, 1]);
    watch.stop();
  });

  it('does not report a promoted build as late', async () => {
    const { db } = await testDeps();
    const watch = await watchAt(60_000, 'abc');
    await db.transaction((tx) => makeCurrent(tx, build));
    await watch.ask();
    expect(watch.isInTime()).to.equal(true);
    await db.transaction((tx) => makeCurrent(tx, { version: '0.4.0', buildId: 'def' }));
    await watch.ask();
    expect(watch.isInTime()).to.equal(true);
    watch.stop();
  });

  it('reports a build as late if its last promotion was before the start of the worker', async () => {
    const { db } = await testDeps();
    await db.transaction((tx) => makeCurrent(tx, build));
    await db.transaction((tx) => makeCurrent(tx, { version: '0.4.0', buildId: 'def' }));
    now = Date.parse('2999-01-01');
    const restarted = await watchAt(now + 60_000, 'abc');
    expect(restarted.isInTime()).to.equal(false);
    await db.transaction((tx) => makeCurrent(tx, build));
    await restarted.ask();
    expect(restarted.isInTime()).to.equal(true);
    restarted.stop();
  });

  it('does not report a checkout without a build id as late while no build is promoted', async () => {
    const { db } = await testDeps();
    const withoutBuild = await watchAt(60_000, undefined);
    await db.transaction((tx) => makeCurrent(tx, build));
    const withBuild = await watchAt(180_000, undefined);
    expect([withoutBuild.isInTime(), withBuild.isInTime()]).to.deep.equal([true, false]);
    withoutBuild.stop();
    withBuild.stop();
  });

  it('reports the promotion as late if Postgres does not answer for a minute', async () => {
    const away = { one: () => Promise.reject(new Error('away')) } as unknown as Queries;
    const watch = watchPromotion(away, 'abc', onLate, clock);
    now = 60_000;
    await watch.ask();
    expect(watch.isInTime()).to.equal(false);
    watch.stop();
  });
});
