/** Remembers the ids of events, so that an event that comes twice is forwarded once. Forgets the oldest ids beyond a bound. */

/** The ids of a busy club within an hour, in some 10 MB. */
const usualBound = 100_000;

export class KnownIds {
  readonly #ids = new Set<string>();
  readonly #bound: number;

  constructor(bound = usualBound) {
    this.#bound = bound;
  }

  /** @returns whether the id is new */
  add(id: string): boolean {
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    for (const oldest of this.#ids) {
      if (this.#ids.size <= this.#bound) break;
      this.#ids.delete(oldest);
    }
    return true;
  }
}
