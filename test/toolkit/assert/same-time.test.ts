/** Tests the check that two kinds of call take the same time. */
import { expect } from 'chai';
import { setTimeout as pause } from 'node:timers/promises';
import { expectSameTime, type TimedCall } from './same-time.ts';

describe('expectSameTime', () => {
  /** Calls that wait between `leastMs` and 3 ms longer. */
  const waiting =
    (leastMs: number): TimedCall =>
    async () =>
    () =>
      pause(leastMs + Math.random() * 3);
  const failureOf = (check: Promise<void>) =>
    check.then(
      () => undefined,
      (error: unknown) => (error as Error).message,
    );

  it('accepts two kinds of call with the same durations', async () => {
    await expectSameTime({ known: waiting(1), unknown: waiting(1) }, { samples: 40 });
  });

  it('refuses a kind that takes longer, after the last round, and names it', async () => {
    const failure = await failureOf(
      expectSameTime({ known: waiting(25), unknown: waiting(1) }, { samples: 30, rounds: 2 }),
    );
    expect(failure?.split('; ')).to.have.length(2);
    expect(failure).to.match(/^known is slower than unknown in ([89]\d|100) % of the pairs, p = \d/);
  });

  it('does not measure the preparation of a call', async () => {
    const prepared =
      (ms: number): TimedCall =>
      async () => {
        await pause(ms);
        return () => pause(1 + Math.random() * 3);
      };
    await expectSameTime({ slow: prepared(5), fast: prepared(0) }, { samples: 40 });
  });

  it('measures each call once if several pairs run at the same time', async () => {
    const counts = { one: 0, other: 0 };
    const counted = (name: keyof typeof counts) => async () => async () => {
      counts[name] += 1;
      await pause(1);
    };
    await expectSameTime({ one: counted('one'), other: counted('other') }, { samples: 30, pairsAtOnce: 4 });
    expect([counts.one % 40, counts.other % 40]).to.deep.equal([0, 0]); // 30 and 10 to warm up, in each round
  });

  it('refuses any number of kinds but two', async () => {
    expect(await failureOf(expectSameTime({ only: waiting(0) }))).to.equal('The check compares two kinds of call');
  });
});
