import { mock } from 'node:test';
import { expect } from 'chai';
import { makeCurrent } from '../../platform/engine/releases.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { watchPromotion } from '../../worker/reports/promotion-watch.ts';
import { testDeps } from '../toolkit/stack/database.ts';

const build = { version: '0.3.0', buildId: 'abc' };

describe('a worker whose build nobody promotes (ENG-19)', () => {
  let now = 0;
  const clock = () => now;
  const onLate = mock.fn();
  beforeEach('no build is current', async () => {
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

  it('is in time for a minute, and says once that it was not', async () => {
    const watch = await watchAt(59_999, 'abc');
    expect([watch.isInTime(), onLate.mock.callCount()]).to.deep.equal([true, 0]);
    now = 60_000;
    await watch.ask();
    await watch.ask();
    expect([watch.isInTime(), onLate.mock.callCount()]).to.deep.equal([false, 1]);
    watch.stop();
  });

  it('is in time again once it is promoted, and stays so when another build follows', async () => {
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

  it('is late when its build was current before it started, and another is by now', async () => {
    const { db } = await testDeps();
    await db.transaction((tx) => makeCurrent(tx, build));
    await db.transaction((tx) => makeCurrent(tx, { version: '0.4.0', buildId: 'def' }));
    now = Date.parse('2999-01-01');
    const comesBack = await watchAt(now + 60_000, 'abc');
    expect(comesBack.isInTime()).to.equal(false);
    await db.transaction((tx) => makeCurrent(tx, build));
    await comesBack.ask();
    expect(comesBack.isInTime()).to.equal(true);
    comesBack.stop();
  });

  it('waits for nobody in a checkout, unless a build is current', async () => {
    const { db } = await testDeps();
    const alone = await watchAt(60_000, undefined);
    await db.transaction((tx) => makeCurrent(tx, build));
    const beside = await watchAt(180_000, undefined);
    expect([alone.isInTime(), beside.isInTime()]).to.deep.equal([true, false]);
    alone.stop();
    beside.stop();
  });

  it('is late, too, while Postgres cannot say', async () => {
    const away = { one: () => Promise.reject(new Error('away')) } as unknown as Queries;
    const watch = watchPromotion(away, 'abc', onLate, clock);
    now = 60_000;
    await watch.ask();
    expect(watch.isInTime()).to.equal(false);
    watch.stop();
  });
});
