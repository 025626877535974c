/** Some requests commit each transaction themselves. Their first transaction begins with statements of the API (ADR 69). */
import { Database, type Transaction } from './database.ts';

export class OpeningDatabase extends Database {
  readonly #pool: Database;
  readonly #opening: (tx: Transaction) => Promise<void>;
  #isOpened = false;

  /** @param opening the first statements of the first transaction */
  constructor(pool: Database, opening: (tx: Transaction) => Promise<void>) {
    super(pool.source, pool.notifier);
    this.#pool = pool;
    this.#opening = opening;
  }

  override async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    if (this.#isOpened) return this.#pool.transaction(work);
    const result = await this.#pool.transaction(async (tx) => {
      await this.#opening(tx);
      return work(tx);
    });
    this.#isOpened = true;
    return result;
  }
}
