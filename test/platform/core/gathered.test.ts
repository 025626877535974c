import { expect } from 'chai';
import { gathered, usuallyHoldsMs } from '../../../platform/core/gathered.ts';
import { withTimersStopped } from '../../toolkit/fakes/timers.ts';

describe('gathered', () => {
  it('puts calls of one event-loop turn into one batch', async () => {
    const calls: number[][] = [];
    const ends: (() => void)[] = [];
    const double = gathered(async (items: readonly number[]) => {
      calls.push([...items]);
      await new Promise<void>((resolve) => ends.push(resolve));
      return items.map((item) => 2 * item);
    });
    const first = [double(1), double(2)];
    await new Promise(setImmediate);
    const second = [double(3), double(4), double(5)];
    await new Promise(setImmediate);
    expect(calls).to.deep.equal([[1, 2]]);
    ends[0]?.();
    expect(await Promise.all(first)).to.deep.equal([2, 4]);
    await new Promise(setImmediate);
    ends[1]?.();
    expect(await Promise.all(second)).to.deep.equal([6, 8, 10]);
    expect(calls).to.deep.equal([
      [1, 2],
      [3, 4, 5],
    ]);
  });

  it('rejects all calls of a failed batch, and runs the next batch', async () => {
    let fails = true;
    const echo = gathered(async (items: readonly string[]) => {
      if (fails) throw new Error('away');
      return items;
    });
    const ends = await Promise.allSettled([echo('a'), echo('b')]);
    expect(ends.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
    fails = false;
    expect(await echo('c')).to.equal('c');
  });

  describe('with several parallel batches', () => {
    /** The test ends each batch. */
    const callsByHand = (options: { most?: number; atOnce?: number }) => {
      const calls: { items: readonly number[]; end: () => void; fail: (error: Error) => void }[] = [];
      const double = gathered(async (items: readonly number[]) => {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        calls.push({ items, end: resolve, fail: reject });
        await promise;
        return items.map((item) => 2 * item);
      }, options);
      return { double, calls, startedBatches: () => calls.map(({ items }) => items) };
    };
    const turn = () => new Promise(setImmediate);

    it('starts a parallel batch only if the running batch takes longer than usual', () =>
      withTimersStopped(async (advance) => {
        const { double, calls, startedBatches } = callsByHand({ atOnce: 2 });
        const stuck = double(1);
        await turn();
        const others = [double(2), double(3)];
        await advance(usuallyHoldsMs - 1);
        expect(startedBatches()).to.deep.equal([[1]]);
        await advance(1);
        expect(startedBatches()).to.deep.equal([[1], [2, 3]]);
        calls[1]?.end();
        expect(await Promise.all(others)).to.deep.equal([4, 6]);
        const later = double(4);
        await turn();
        expect(startedBatches(), 'starts immediately, because the first batch does not block it').to.deep.equal([
          [1],
          [2, 3],
          [4],
        ]);
        calls[2]?.end();
        calls[0]?.end();
        expect([await later, await stuck]).to.deep.equal([8, 2]);
      }));

    it('runs no more parallel batches than the limit', () =>
      withTimersStopped(async (advance) => {
        const { double, calls, startedBatches } = callsByHand({ atOnce: 3, most: 2 });
        const results = [1, 2, 3, 4, 5, 6, 7].map(double);
        await turn();
        for (let rest = 0; rest < 10; rest++) await advance(usuallyHoldsMs);
        expect(startedBatches()).to.deep.equal([
          [1, 2],
          [3, 4],
          [5, 6],
        ]);
        calls[1]?.end();
        expect(await results[3]).to.equal(8);
        await turn();
        expect(startedBatches().slice(3)).to.deep.equal([[7]]);
        for (const { end } of calls) end();
        expect(await Promise.all(results)).to.deep.equal([2, 4, 6, 8, 10, 12, 14]);
      }));

    it('reports the error of a batch only to the callers of that batch', () =>
      withTimersStopped(async (advance) => {
        const { double, calls, startedBatches } = callsByHand({ atOnce: 2 });
        const failing = double(1);
        await turn();
        const next = double(2);
        await advance(usuallyHoldsMs);
        calls[0]?.fail(new Error('away'));
        expect(await failing.catch(({ message }: Error) => message)).to.equal('away');
        const last = double(3);
        await turn();
        expect(startedBatches(), 'the second batch has just started').to.deep.equal([[1], [2]]);
        calls[1]?.end();
        expect(await next).to.equal(4);
        await turn();
        calls[2]?.end();
        expect(await last).to.equal(6);
      }));

    it('runs one batch at a time by default, however long the batch lasts', () =>
      withTimersStopped(async (advance) => {
        const { double, calls, startedBatches } = callsByHand({});
        const stuck = double(1);
        await turn();
        const next = double(2);
        await advance(60_000);
        expect(startedBatches()).to.deep.equal([[1]]);
        calls[0]?.end();
        expect(await stuck).to.equal(2);
        await turn();
        calls[1]?.end();
        expect(await next).to.equal(4);
      }));
  });
});
