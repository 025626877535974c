/** Computes growth by linear regression. Pure. */

interface Point {
  x: number;
  y: number;
}

interface Line {
  slope: number;
  error: number;
  mean: number;
}

/** Fits a line by least squares. For fewer than three points, or for equal x, the slope is 0 and the error infinite. */
export function lineThrough(points: readonly Point[]): Line {
  const count = points.length;
  const mean = count === 0 ? 0 : sum(points.map(({ y }) => y)) / count;
  const middle = sum(points.map(({ x }) => x)) / Math.max(1, count);
  const spread = sum(points.map(({ x }) => (x - middle) ** 2));
  if (count < 3 || spread === 0) return { slope: 0, error: Number.POSITIVE_INFINITY, mean };
  const slope = sum(points.map(({ x, y }) => (x - middle) * (y - mean))) / spread;
  const residuals = sum(points.map(({ x, y }) => (y - mean - slope * (x - middle)) ** 2));
  return { slope, error: Math.sqrt(residuals / (count - 2) / spread), mean };
}

/** The share of the time that counts as warm-up. In this time caches fill, and the compiler of a new process allocates memory. */
const warmUpShare = 0.25;
const longestWarmUpHours = 0.5;

/** @returns the points after the warm-up, which takes a quarter of `hours` and at most half an hour */
export function afterWarmUp<P extends { x: number }>(points: readonly P[], hours: number): P[] {
  const from = Math.min(hours * warmUpShare, longestWarmUpHours);
  return points.filter(({ x }) => x >= from);
}

/** @returns the growth in percent of the mean in an hour, with the standard error */
export function percentAnHour(points: readonly Point[]): { percent: number; error: number } {
  const { slope, error, mean } = lineThrough(points);
  return mean === 0 ? { percent: 0, error } : { percent: (100 * slope) / mean, error: (100 * error) / mean };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
