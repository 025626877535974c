/** The Mann-Whitney test: do two samples of durations differ by more than chance? */

/** The result of a comparison of two samples. */
interface SampleComparison {
  /** The number of pairs in which the value of the first sample is larger. An equal pair counts as a half. */
  u: number;
  /** `u` as a share of all pairs: 0.5 if the samples do not differ. */
  share: number;
  /** The probability that equal sources give a difference of at least this size, in both directions. It is 1 if all values are equal. */
  p: number;
}

/**
 * Compares two samples. Equal values share their rank, because clocks and ticks repeat durations.
 * @param one at least 8 values. For fewer values the normal approximation is inexact
 * @returns the statistic with its probability: normal approximation, corrected for equal values and for continuity
 * @throws RangeError if a sample is empty or has a value that is not a number
 */
export function mannWhitney(one: readonly number[], other: readonly number[]): SampleComparison {
  if (one.length === 0 || other.length === 0)
    throw new RangeError('Empty sample: the test compares two samples of at least one value');
  if ([...one, ...other].some(Number.isNaN)) throw new RangeError('NaN in a sample: the test compares numbers');
  const marked = [
    ...one.map((value) => ({ value, isOfOne: true })),
    ...other.map((value) => ({ value, isOfOne: false })),
  ];
  const groups = [...Map.groupBy(marked, ({ value }) => value)].toSorted(([a], [b]) => a - b);
  let rank = 0;
  let rankSum = 0;
  let tied = 0;
  for (const [, members] of groups) {
    const { length } = members;
    rankSum += members.filter(({ isOfOne }) => isOfOne).length * (rank + (length + 1) / 2);
    tied += length ** 3 - length;
    rank += length;
  }
  const [n, m] = [one.length, other.length];
  const u = rankSum - (n * (n + 1)) / 2;
  const total = n + m;
  const deviation = Math.sqrt(((n * m) / 12) * (total + 1 - tied / (total * (total - 1))));
  const distance = Math.max(0, Math.abs(u - (n * m) / 2) - 0.5);
  return { u, share: u / (n * m), p: deviation === 0 ? 1 : Math.min(1, 2 * upperTail(distance / deviation)) };
}

/** @returns the probability that a standard normal variable is above `z`, by formula 26.2.17 of Abramowitz and Stegun, error below 1e-7 */
function upperTail(z: number): number {
  const t = 1 / (1 + 0.2316419 * z);
  const polynomial = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * polynomial;
}
