import { expect } from 'chai';
import { rescueOverdue } from '../../platform/engine/sweeper.ts';
import { watchSweeps } from '../../worker/reports/sweep-watch.ts';
import { testDeps } from '../toolkit/stack/database.ts';

const minute = 60_000;

describe('the watch over the sweeper (ENG-5)', () => {
  it('accepts 10 minutes without a round', async () => {
    const { db } = await testDeps();
    const startedAt = Date.now();
    let now = startedAt;
    const watch = watchSweeps(db, () => now);
    const state = async () => {
      await watch.ask();
      return [watch.isInTime(), watch.ageSeconds()];
    };
    const round = async (at: number) => rescueOverdue(db, new Date(at));
    try {
      expect(await state(), 'without a round').to.deep.equal([true, undefined]);
      await round(startedAt - 60 * minute);
      expect(await state(), 'the last round was before a long stop').to.deep.equal([true, 3_600]);
      now = startedAt + 10 * minute;
      expect(await state(), 'no round since the start').to.deep.equal([false, 4_200]);
      await round(now - minute);
      expect(await state()).to.deep.equal([true, 60]);
      now += 9 * minute - 1;
      expect((await state())[0]).to.equal(true);
      now += 1;
      expect(await state()).to.deep.equal([false, 600]);
    } finally {
      watch.stop();
    }
  });
});
