/**
 * Runs statements and transactions in Postgres. If a transaction has written work for the relay, a NOTIFY follows the commit.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { DataSource, EntityManager } from 'typeorm';
import { sqlStateOf } from './errors.ts';
import { noteStatement } from './observed-statements.ts';
import { PoolShareTaken } from './shared-pool.ts';
import { sql, type Sql } from './sql.ts';

/** Runs statements on any connection of the pool, or in a transaction. Code that only reads needs only this interface. */
export class Queries {
  #manager: EntityManager;

  constructor(manager: EntityManager) {
    this.#manager = manager;
  }

  /** The repository of an entity, for statements about one table without expressions: `find`, `insert`, `update`, `delete`, `exists`. */
  get manager(): EntityManager {
    return this.#manager;
  }

  /** Sends all further statements on the given connection, such as the connection of an open transaction. */
  protected useConnectionOf(manager: EntityManager): void {
    this.#manager = manager;
  }

  /** @returns the rows that a statement selects or returns */
  async rows<Row>(statement: Sql): Promise<Row[]> {
    const result = await this.#send(statement);
    return (isCounted(result) ? result[0] : result) as Row[];
  }

  /** @returns the first row */
  async one<Row>(statement: Sql): Promise<Row | undefined> {
    const [row] = await this.rows<Row>(statement);
    return row;
  }

  /** @returns the number of rows that an UPDATE or a DELETE changed; 0 for any other statement */
  async run(statement: Sql): Promise<number> {
    const result = await this.#send(statement);
    return isCounted(result) ? result[1] : 0;
  }

  #send(statement: Sql): Promise<unknown[]> {
    const values: unknown[] = [];
    const text = statement.render(values);
    noteStatement(text, values);
    return this.manager.query(text, values);
  }
}

/** TypeORM returns [rows, count] for UPDATE and DELETE, and a list of objects for any other statement. */
function isCounted(result: unknown[]): result is [unknown[], number] {
  return result.length === 2 && typeof result[1] === 'number';
}

/** A transaction in progress. State, facts and wakes are written together in one such transaction. */
export class Transaction extends Queries {
  #leavesWork = false;

  /** Notifies the relays once this transaction has committed. */
  notifyRelay(): void {
    this.#leavesWork = true;
  }

  get leavesWork(): boolean {
    return this.#leavesWork;
  }
}

export interface Notifier {
  /** Notifies every relay that facts or wakes were committed. A lost NOTIFY costs at most a poll interval. */
  notify(): void;
}

/** Postgres as the domain sees it. */
export class Database extends Queries {
  readonly source: DataSource;
  readonly notifier: Notifier;

  constructor(source: DataSource, notifier: Notifier) {
    super(source.manager);
    this.source = source;
    this.notifier = notifier;
  }

  /**
   * Runs `work` in one transaction. If Postgres ended the transaction because of a passing conflict, or if `work` threw StaleRead, this
   * method tries again: up to five times, with a short pause between two tries. If `work` left facts or wakes for the relay, this method
   * notifies the relay after the commit. A NOTIFY inside the transaction would make commits wait for one another (ENG-14).
   */
  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return againAfterConflicts(async () => {
      const { result, leavesWork } = await this.source.transaction(async (manager) => {
        const tx = new Transaction(manager);
        return { result: await work(tx), leavesWork: tx.leavesWork };
      });
      if (leavesWork) this.notifier.notify();
      return result;
    });
  }
}

/**
 * Runs `work` in a savepoint of the transaction: after an error, nothing of `work` remains, and the transaction may go on. The facts and wakes
 * of `work` belong to the whole transaction.
 */
export async function inSavepoint<T>(outer: Transaction, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return outer.manager.transaction(async (manager) => {
    const tx = new Transaction(manager);
    const result = await work(tx);
    if (tx.leavesWork) outer.notifyRelay();
    return result;
  });
}

/** Runs `attempt`, and runs it again after a passing conflict: five times at most, with a short pause between. @returns its result */
export async function againAfterConflicts<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (tries === maxTries || !isPassing(error)) throw error;
      await pause(pauseBeforeRepetition(Math.random()));
    }
  }
}

/** Postgres aborted the transaction because of a conflict with another transaction. Nothing was written, so it is safe to retry. */
const passingConflicts = new Set(['40001', '40P01']);
const maxTries = 5;

/** A row was first read without a lock, and has changed before it was locked. Nothing was written, so it is safe to retry. */
export class StaleRead extends Error {
  override name = 'StaleRead';
  code = 'looked_too_early';
}

/** The shortest and the longest pause before a retry, in milliseconds. They are about as long as a transaction. */
const repetitionPause = { leastMs: 5, maxMs: 50 } as const;

/**
 * @param random a random number from 0 to 1, so that two conflicting transactions do not retry at the same moment
 * @returns milliseconds before a transaction is tried again
 */
export function pauseBeforeRepetition(random: number): number {
  const { leastMs, maxMs } = repetitionPause;
  return leastMs + random * (maxMs - leastMs);
}

function isPassing(error: unknown): boolean {
  return error instanceof StaleRead || passingConflicts.has(sqlStateOf(error) ?? '');
}

/**
 * @returns whether a conflict with other transactions ended the transaction. If so, the transaction itself has no fault, and nothing was
 * written
 */
export function isConflict(error: unknown): boolean {
  return isPassing(error) || error instanceof PoolShareTaken || isLockTimeout(error);
}

/** @returns whether the wait for a lock timed out */
export function isLockTimeout(error: unknown): boolean {
  return sqlStateOf(error) === lockTimeout;
}

/** Bounds each wait of the transaction for a lock, in milliseconds. A longer wait fails (`isLockTimeout`). */
export async function boundLockWaits(tx: Transaction, atMostMs: number): Promise<void> {
  await tx.run(sql`SELECT set_config('lock_timeout', ${String(atMostMs)}, true)`);
}

/**
 * Until the transaction ends, each prepared statement uses one generic plan for all values. This plan finds rows by their keys. Use this
 * function for frequent statements on partitioned tables. Without it, Postgres expects that a generic plan reads all partitions, and so
 * makes a new plan for each run. Making the plan takes 1.0 ms, and writing the record takes only 0.3 ms. In fact, a generic plan reads few
 * partitions: at its start, it excludes all partitions that cannot contain the values.
 */
export async function planOnce(tx: Transaction): Promise<void> {
  // Postgres may make the plan while the tables are empty, and still use it after they have grown. So the plan must not read whole tables.
  await tx.run(sql`SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
                          set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`);
}

/** The wait for a lock timed out. */
const lockTimeout = '55P03';
