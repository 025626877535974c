/** Random choices that depend only on a seed, so that equal seeds make equal requests. */
import fc from 'fast-check';

export class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number from 0 up to 1, by mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 to `count` minus 1. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    if (from.length === 0) throw new Error('The list to pick from is empty');
    return from[this.below(from.length)] as T;
  }

  /** Picks one option. An option with a larger weight is picked more often. */
  weighted<T>(options: readonly (readonly [weight: number, option: T])[]): T {
    const total = options.reduce((sum, [weight]) => sum + weight, 0);
    let remainingWeight = this.next() * total;
    for (const [weight, option] of options) {
      remainingWeight -= weight;
      if (remainingWeight < 0) return option;
    }
    return this.pick(options)[1];
  }

  shuffled<T>(items: readonly T[]): T[] {
    const rest = [...items];
    for (let at = rest.length - 1; at > 0; at--) {
      const other = this.below(at + 1);
      [rest[at], rest[other]] = [rest[other] as T, rest[at] as T];
    }
    return rest;
  }

  sample<T>(values: fc.Arbitrary<T>): T {
    const [value] = fc.sample(values, { numRuns: 1, seed: this.below(2 ** 31) });
    return value as T;
  }
}
