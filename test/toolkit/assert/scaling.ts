/** Checks that work grows in proportion to its input. It measures CPU time, so that a busy machine does not matter. */
import { expect } from 'chai';

/**
 * Each size is 1.25 times the size before. The steps are small, so that the check finds exponential work before one call takes hours.
 */
const step = 1.25;
/**
 * The check fails if one run takes this long. Linear work needs much less time for such inputs, and the time limit of a test is much
 * longer.
 */
const guardMs = 2_000;
const factor = 16;
/**
 * For 16 times the input, linear work takes 16 times as long, and quadratic work 256 times as long. This limit is between these two
 * factors.
 */
const mostTimes = 64;
/** After a measurement above the limit, the check measures this many times more. */
const furtherMeasurements = 2;

function cpuMs(work: () => unknown, times = 1): number {
  const before = process.cpuUsage();
  for (let time = 0; time < times; time++) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / times;
}

/** @returns the CPU time of one run in milliseconds, which is the minimum of several measurements */
function leastCpuMs(work: () => unknown): number {
  const times = Math.ceil(4 / Math.max(0.001, cpuMs(work)));
  return Math.min(...Array.from({ length: 4 }, () => cpuMs(work, Math.min(times, 10_000))));
}

/**
 * @param inputOf returns an input of about this many characters
 * @param largest the largest size. The check compares the times for this size and for a sixteenth of this size
 */
export function expectLinear<Input>(
  name: string,
  inputOf: (size: number) => Input,
  run: (input: Input) => unknown,
  largest = 64_000,
): void {
  for (let size = 32; size < largest; size *= step) {
    const input = inputOf(Math.floor(size));
    expect(
      cpuMs(() => run(input)),
      `${name}: ms of CPU for ${Math.floor(size)} characters`,
    ).to.be.below(guardMs);
  }
  const [small, large] = [inputOf(largest / factor), inputOf(largest)];
  const measure = () => leastCpuMs(() => run(large)) / leastCpuMs(() => run(small));
  let times = measure();
  // Garbage collection and compilation can add to one measurement. Quadratic work exceeds the limit in each of them.
  for (let again = 0; again < furtherMeasurements && times >= mostTimes; again++) times = Math.min(times, measure());
  expect(times, `${name}: times the CPU for ${factor} times the characters`).to.be.below(mostTimes);
}

/** @returns a function that makes an input of about `size` characters: the beginning, then the piece repeated, and then the end */
export function manyTimes(piece: string, { begin = '', end = '' } = {}): (size: number) => string {
  return (size) => begin + piece.repeat(Math.max(1, Math.floor(size / piece.length))) + end;
}
