/**
 * Gives one changing request its access to Postgres. The handler of the request calls `transaction` as usual. In this class, `transaction`
 * runs the work, but leaves the transaction open. The API later commits the transaction together with the answer, by {@link
 * RequestDatabase.commit}. So each request has only one commit (ADR 69).
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

  /** @param opening the first statements of each transaction that the request begins. An error of them fails the transaction */
  constructor(pool: Database, opening: (tx: Transaction) => Promise<void> = async () => undefined) {
    super(pool.source, pool.notifier);
    this.#pool = pool;
    this.#opening = opening;
  }

  /**
   * Runs `work` in the request's transaction, which stays open. Later reads use the connection of this transaction, and see its rows. A
   * second call runs within the same transaction. After an error, the whole transaction is rolled back, and the next call begins a new
   * transaction.
   */
  override async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    this.transactions += 1;
    return againAfterConflicts(() => (this.#open ? inSavepoint(this.#open.tx, work) : this.#begin(work)));
  }

  /** Whether the handler has begun a transaction, and its work has not failed. */
  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** Runs `work` in the request's transaction after its handler, and begins the transaction if the handler has begun none. */
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

  /** Commits the request's transaction, if its handler has begun one, and then notifies the relay of its facts. */
  async commit(): Promise<void> {
    const open = this.#close();
    if (!open) return;
    await end(open.runner, () => open.runner.commitTransaction());
    if (open.tx.leavesWork) this.notifier.notify();
  }

  /**
   * Undoes the request's transaction, if its handler has begun one. It never throws: if the connection is lost, Postgres undoes the
   * transaction, and the caller reports the error that was the reason for the rollback.
   */
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

/**
 * Ends the transaction of a connection, and returns the connection to the pool in any case. After an error, the function also sends a
 * ROLLBACK. If the connection no longer works, this ROLLBACK fails, and the pool drops the connection.
 */
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
