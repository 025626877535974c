/** Makes the decisions of a schedule. They come from a seed, or from a list, so that a failed schedule can be shortened. */

/** In every decision, 0 is the usual choice: the first ready action, no fault, or the first command. */
export class Decisions {
  readonly choices: number[] = [];
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

  /** @param list the decisions; 0 after the end of the list @param seed the seed of random numbers in the product */
  static fromList(list: readonly number[], seed: number): Decisions {
    let position = 0;
    return new Decisions((below) => (list[position++] ?? 0) % below, generator(seed + 1));
  }

  /** @returns a number from 0 to `below` minus 1 */
  choose(below: number): number {
    if (below <= 1) return 0;
    const choice = this.#next(below);
    this.choices.push(choice);
    return choice;
  }

  pick<T>(list: readonly T[]): T {
    const picked = list[this.choose(list.length)];
    if (picked === undefined) throw new Error('The list to choose from is empty');
    return picked;
  }

  /** @returns true with the probability 1 / `oneIn` */
  happens(oneIn: number): boolean {
    return this.choose(oneIn) === oneIn - 1 && oneIn > 1;
  }

  /** Replaces `Math.random`. The returned number is not recorded as a decision. */
  fraction(): number {
    return this.#fraction();
  }
}

/** Mulberry32: small, and good enough for choosing schedules. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
