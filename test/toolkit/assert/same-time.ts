/** Checks that the duration of a call does not reveal which of two kinds of call it was. */
import { expect } from 'chai';
import { mannWhitney } from './mann-whitney.ts';

/** Prepares one call. The preparation is not measured, and the returned function is measured. */
export type TimedCall = () => Promise<() => Promise<unknown>>;

const warmUps = 10;
/** A round with a lower probability counts as a difference. */
const leastP = 0.01;

/**
 * Expects that the durations of two kinds of call do not differ.
 *
 * A pair of calls, one of each kind, runs one after the other in random order. So a load that grows or falls during the check adds equally
 * to both kinds. A round fails by chance with a probability of 0.01. The check fails only if `rounds` rounds in a row fail, each with new
 * calls: by chance once in a million checks if `rounds` is 3. A real difference is visible in all rounds: if one kind is slower in 65 % of
 * the pairs, then 200 samples find it with a probability above 0.99 in each round.
 * @param kinds the two kinds of call by name
 * @param options.samples the number of measured calls of each kind and round
 * @param options.pairsAtOnce the number of pairs that run at the same time. Answers that wait for a tick need little time of the machine
 */
export async function expectSameTime(
  kinds: Readonly<Record<string, TimedCall>>,
  { samples = 200, rounds = 3, pairsAtOnce = 1 }: { samples?: number; rounds?: number; pairsAtOnce?: number } = {},
): Promise<void> {
  const [one, other, ...further] = Object.entries(kinds);
  if (!one || !other || further.length > 0) throw new RangeError('The check compares two kinds of call');
  const results: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const times = await measureInPairs([one[1], other[1]], samples, pairsAtOnce);
    const { share, p } = mannWhitney(times[0], times[1]);
    if (p > leastP) return;
    results.push(
      `${one[0]} is slower than ${other[0]} in ${Math.round(share * 100)} % of the pairs, p = ${p.toExponential(1)}`,
    );
  }
  expect.fail(results.join('; '));
}

/** @returns the durations of each kind in milliseconds */
async function measureInPairs(
  kinds: readonly [TimedCall, TimedCall],
  samples: number,
  pairsAtOnce: number,
): Promise<[number[], number[]]> {
  const times: [number[], number[]] = [[], []];
  let next = -warmUps;
  const measurePairs = async () => {
    for (let pair = next++; pair < samples; pair = next++) {
      const calls = [await kinds[0](), await kinds[1]()] as const;
      const order = Math.random() < 0.5 ? ([0, 1] as const) : ([1, 0] as const);
      for (const index of order) {
        const begin = performance.now();
        await calls[index]();
        if (pair >= 0) times[index].push(performance.now() - begin);
      }
    }
  };
  await Promise.all(Array.from({ length: pairsAtOnce }, measurePairs));
  return times;
}
