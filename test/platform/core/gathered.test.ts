import { expect } from 'chai';
import { gathered } from '../../../platform/core/gathered.ts';

describe('gathered', () => {
  it('puts those who ask in one turn into one call, and those who ask meanwhile into the next', async () => {
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

  it('rejects all of a call that fails, and goes on with the next', async () => {
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
});
