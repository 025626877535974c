/** What chance decides in a schedule: drawn from a seed, or given as a list, so that a failing schedule can be made shorter. */

/** In every choice, 0 is what a quiet day would bring: the first that is ready, no fault, the first command. */
export class Decisions {
  /** What was decided so far. */
  readonly taken: number[] = [];
  readonly #next: (below: number) => number;
  readonly #fraction: () => number;

  private constructor(next: (below: number) => number, fraction: () => number) {
    this.#next = next;
    this.#fraction = fraction;
  }

  static fromSeed(seed: number): Decisions {
    const draw = generator(seed);
    return new Decisions((below) => Math.floor(draw() * below), generator(seed + 1));
  }

  /** @param list what is decided; 0 beyond its end @param seed of what the product itself leaves to chance */
  static fromList(list: readonly number[], seed: number): Decisions {
    let place = 0;
    return new Decisions((below) => (list[place++] ?? 0) % below, generator(seed + 1));
  }

  /** @returns from 0 to below `below` */
  choose(below: number): number {
    if (below <= 1) return 0;
    const taken = this.#next(below);
    this.taken.push(taken);
    return taken;
  }

  /** @returns one of the list */
  pick<T>(list: readonly T[]): T {
    const picked = list[this.choose(list.length)];
    if (picked === undefined) throw new Error('There is nothing to choose from');
    return picked;
  }

  /** @returns true once in so many times */
  happens(oneIn: number): boolean {
    return this.choose(oneIn) === oneIn - 1 && oneIn > 1;
  }

  /** In place of `Math.random`: from 0 up to 1. It does not count as a decision. */
  fraction(): number {
    return this.#fraction();
  }
}

/** Mulberry32: small, and good enough to choose among schedules. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
