/** The Mann-Whitney test: do two samples of durations differ by more than chance? */

/**
 * @returns `share`: pairs in which the value of `one` is larger; 0.5 without a difference. `p`: the probability of this by chance
 * (two-sided, normal approximation)
 */
export function mannWhitney(one: readonly number[], other: readonly number[]): { share: number; p: number } {
  const ranked = [...one.map((ms) => ({ ms, isOfOne: true })), ...other.map((ms) => ({ ms, isOfOne: false }))].toSorted(
    (a, b) => a.ms - b.ms,
  );
  const ranks = ranked.reduce((sum, { isOfOne }, index) => sum + (isOfOne ? index + 1 : 0), 0);
  const [n, m] = [one.length, other.length];
  const u = ranks - (n * (n + 1)) / 2;
  const z = (u - (n * m) / 2) / Math.sqrt((n * m * (n + m + 1)) / 12);
  return { share: u / (n * m), p: 2 * (1 - normal(Math.abs(z))) };
}

/** Formula 26.2.17 of Abramowitz and Stegun. */
function normal(z: number): number {
  const t = 1 / (1 + 0.2316419 * z);
  const tail = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return 1 - (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * tail;
}
