import { expect } from 'chai';
import { isBefore, keepBeating, runningBefore } from '../../../../platform/infra/postgres/checks/running-processes.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

const own = { version: '0.3.0', buildId: 'abc' };
const unexpected = (error: unknown) => {
  throw error;
};

describe('processes that run', () => {
  beforeEach('none', async () => (await testDeps()).db.source.query('TRUNCATE running_processes'));

  it('are listed by version and build from their start until they stop', async () => {
    const { db } = await testDeps();
    const stop = await keepBeating(db, 'worker', own, unexpected);
    expect(await runningBefore(db, '0.4.0')).to.deep.equal([{ name: 'worker', ...own }]);
    expect(await runningBefore(db, '0.3.0')).to.deep.equal([]);
    await stop();
    expect(await runningBefore(db, '0.4.0')).to.deep.equal([]);
  });

  it('count as stopped a minute after their last heartbeat', async () => {
    const { db } = await testDeps();
    const stop = await keepBeating(db, 'api', own, unexpected);
    const grow = (interval: string) =>
      db.source.query(`UPDATE running_processes SET beat_at = clock_timestamp() - $1::interval`, [interval]);
    await grow('59 s');
    expect(await runningBefore(db, '1.0.0')).to.have.length(1);
    await grow('60 s');
    expect(await runningBefore(db, '1.0.0')).to.deep.equal([]);
    await stop();
  });

  it('do not include processes that run from a checkout', async () => {
    const { db } = await testDeps();
    const stop = await keepBeating(db, 'worker', undefined, unexpected);
    expect(await runningBefore(db, '9.0.0')).to.deep.equal([]);
    await stop();
  });

  it('are ordered by the numbers in their versions, not by the characters', () => {
    const older = [
      ['0.9.0', '0.10.0'],
      ['0.3.9', '1.0.0'],
      ['1.2.3', '1.2.4'],
    ] as const;
    for (const [one, other] of older) expect([isBefore(one, other), isBefore(other, one)]).to.deep.equal([true, false]);
    expect([isBefore('1.2.3', '1.2.3'), isBefore('1.2.3-rc.1', '1.2.3')]).to.deep.equal([false, false]);
  });
});
