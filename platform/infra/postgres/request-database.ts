/**
 * Postgres for one changing request. `transaction` runs the handler's work, but leaves the transaction open. The API commits it together
 * with the answer, by {@link RequestDatabase.commit}. So each request has one commit (ADR 69).
 */
import type { QueryRunner } from 'typeorm';
import { againAfterConflicts, Database, inSavepoint, Transaction } from './database.ts';

interface OpenTransaction {
  readonly runner: QueryRunner;
  readonly tx: Transaction;
}

export class RequestDatabase extends Database {
  readonly #pool: Database;
  readonly #opening: (tx: Transaction) => Promise<void>;
  #open: OpenTransaction | undefined;
  /** The number of transactions that the handler has begun. */
  transactions = 0;

  /** @param opening the first statements of each transaction of the request */
  constructor(pool: Database, opening: (tx: Transaction) => Promise<void> = async () => undefined) {
    super(pool.source, pool.notifier);
    this.#pool = pool;
    this.#opening = opening;
  }

  /**
   * Leaves the transaction open. Later reads use its connection and see its rows. A second call is part of this transaction. After an error
   * everything is rolled back, and the next call begins a new transaction.
   */
  override async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    this.transactions += 1;
    return againAfterConflicts(() => (this.#open ? inSavepoint(this.#open.tx, work) : this.#begin(work)));
  }

  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** Called after the handler. Begins a transaction if the handler has begun none. */
  async atEnd(work: (tx: Transaction) => Promise<void>): Promise<void> {
    await againAfterConflicts(() => (this.#open ? work(this.#open.tx) : this.#begin(work)));
  }

  async #begin<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const runner = this.source.createQueryRunner();
    try {
      await runner.connect();
    } catch (error) {
      await runner.release(); // without a connection there is nothing to roll back, and a ROLLBACK would wait for a connection again
      throw error;
    }
    try {
      await runner.startTransaction();
      const tx = new Transaction(runner.manager);
      await this.#opening(tx);
      const result = await work(tx);
      this.#open = { runner, tx };
      this.useConnectionOf(runner.manager);
      return result;
    } catch (error) {
      await end(runner, () => runner.rollbackTransaction()).catch(() => undefined); // the first error is more informative
      throw error;
    }
  }

  /** Notifies the relay after the commit. */
  async commit(): Promise<void> {
    const open = this.#close();
    if (!open) return;
    await end(open.runner, () => open.runner.commitTransaction());
    if (open.tx.leavesWork) this.notifier.notify();
  }

  /** Never throws: if the connection is lost, Postgres undoes the transaction itself. */
  async rollback(): Promise<void> {
    const open = this.#close();
    if (open) await end(open.runner, () => open.runner.rollbackTransaction()).catch(() => undefined);
  }

  #close(): OpenTransaction | undefined {
    const open = this.#open;
    this.#open = undefined;
    this.useConnectionOf(this.#pool.manager);
    return open;
  }
}

/** Always returns the connection to the pool. After an error it sends a ROLLBACK; if that fails, the pool drops the connection. */
async function end(runner: QueryRunner, ending: () => Promise<void>): Promise<void> {
  try {
    if (runner.isTransactionActive) await ending();
  } catch (error) {
    await runner.query('ROLLBACK').catch(() => undefined);
    throw error;
  } finally {
    await runner.release();
  }
}
