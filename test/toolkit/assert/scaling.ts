/** Whether work grows in proportion to its input: by CPU, so that a busy machine changes nothing. */
import { expect } from 'chai';

/** Sizes grow by this, so that work which doubles with each few bytes is noticed before it takes hours. */
const step = 1.25;
/** Far more than linear work on such inputs takes, and far less than a test may. */
const guardMs = 2_000;
const factor = 16;
/** Linear work takes 16 times as long, quadratic work 256 times. This lies in the middle. */
const mostTimes = 64;

function cpuMs(work: () => unknown, times = 1): number {
  const before = process.cpuUsage();
  for (let time = 0; time < times; time++) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / times;
}

/** @returns the CPU of one run, in milliseconds: the least of several measurements, each of some milliseconds */
function leastCpuMs(work: () => unknown): number {
  const times = Math.ceil(4 / Math.max(0.001, cpuMs(work)));
  return Math.min(...Array.from({ length: 4 }, () => cpuMs(work, Math.min(times, 10_000))));
}

/**
 * @param inputOf gives an input of about this many characters
 * @param largest size that is tried; a sixteenth of it is what it is compared with
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
  const times = leastCpuMs(() => run(large)) / leastCpuMs(() => run(small));
  expect(times, `${name}: times the CPU for ${factor} times the characters`).to.be.below(mostTimes);
}

/** @returns a function that gives the piece again and again, after the beginning and before the end, in about `size` characters */
export function manyTimes(piece: string, { begin = '', end = '' } = {}): (size: number) => string {
  return (size) => begin + piece.repeat(Math.max(1, Math.floor(size / piece.length))) + end;
}
