/** Runs statements and transactions in Postgres. After the commit of work for the relay, it sends a NOTIFY. */
import { setTimeout as pause } from 'node:timers/promises';
import type { DataSource, EntityManager } from 'typeorm';
import { sqlStateOf } from './errors.ts';
import { noteStatement } from './observed-statements.ts';
import { PoolShareTaken } from './shared-pool.ts';
import { sql, type Sql } from './sql.ts';

/** Code that only reads needs only this class. */
export class Queries {
  #manager: EntityManager;

  constructor(manager: EntityManager) {
    this.#manager = manager;
  }

  /** Runs statements about one table without expressions: `find`, `insert`, `update`, `delete`, `exists`. */
  get manager(): EntityManager {
    return this.#manager;
  }

  /** Sends all further statements on this connection, such as the connection of an open transaction. */
  protected useConnectionOf(manager: EntityManager): void {
    this.#manager = manager;
  }

  async rows<Row>(statement: Sql): Promise<Row[]> {
    const result = await this.#send(statement);
    return (isCounted(result) ? result[0] : result) as Row[];
  }

  /** @returns the first row */
  async one<Row>(statement: Sql): Promise<Row | undefined> {
    const [row] = await this.rows<Row>(statement);
    return row;
  }

  /** @returns 0 for any statement except UPDATE and DELETE */
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

/** TypeORM returns [rows, count] for UPDATE and DELETE, and a list of objects otherwise. */
function isCounted(result: unknown[]): result is [unknown[], number] {
  return result.length === 2 && typeof result[1] === 'number';
}

export class Transaction extends Queries {
  #leavesWork = false;

  /** Notifies the relay after the commit of this transaction. */
  notifyRelay(): void {
    this.#leavesWork = true;
  }

  get leavesWork(): boolean {
    return this.#leavesWork;
  }
}

export interface Notifier {
  /** A lost NOTIFY costs at most a poll interval. */
  notify(): void;
}

export class Database extends Queries {
  readonly source: DataSource;
  readonly notifier: Notifier;

  constructor(source: DataSource, notifier: Notifier) {
    super(source.manager);
    this.source = source;
    this.notifier = notifier;
  }

  /**
   * Runs `work` in one transaction. After a conflict or a StaleRead it tries again, up to five times, with short pauses. It notifies the
   * relay after the commit. A NOTIFY inside the transaction would make commits wait for one another (ENG-14).
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
 * Runs reads in one snapshot: they all see the state of the first one, however long they take. It holds one connection, so `read` must not
 * wait for anything but Postgres.
 */
export async function inSnapshot<T>({ source }: Database, read: (tx: Queries) => Promise<T>): Promise<T> {
  return source.transaction('REPEATABLE READ', async (manager) => {
    const tx = new Queries(manager);
    await tx.run(sql`SET TRANSACTION READ ONLY`);
    return read(tx);
  });
}

/**
 * After an error, nothing of `work` remains, and the transaction may continue. Facts and wakes of `work` belong to the whole transaction.
 */
export async function inSavepoint<T>(outer: Transaction, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return outer.manager.transaction(async (manager) => {
    const tx = new Transaction(manager);
    const result = await work(tx);
    if (tx.leavesWork) outer.notifyRelay();
    return result;
  });
}

/** Tries again after a conflict: five times at most, with short pauses. @returns its result */
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

/** A conflict with another transaction aborted the transaction. Nothing was written, so it is safe to retry. */
const passingConflicts = new Set(['40001', '40P01']);
const maxTries = 5;

/** A row has changed between its first read and its lock. Nothing was written, so it is safe to retry. */
export class StaleRead extends Error {
  override name = 'StaleRead';
  code = 'looked_too_early';
}

/** In milliseconds, about as long as a transaction. */
const repetitionPause = { leastMs: 5, maxMs: 50 } as const;

/**
 * @param random from 0 to 1, so that two conflicting transactions do not retry at the same moment
 * @returns milliseconds
 */
export function pauseBeforeRepetition(random: number): number {
  const { leastMs, maxMs } = repetitionPause;
  return leastMs + random * (maxMs - leastMs);
}

function isPassing(error: unknown): boolean {
  return error instanceof StaleRead || passingConflicts.has(sqlStateOf(error) ?? '');
}

/** @returns whether a conflict with other transactions ended the transaction. Then nothing was written */
export function isConflict(error: unknown): boolean {
  return isPassing(error) || error instanceof PoolShareTaken || isLockTimeout(error);
}

export function isLockTimeout(error: unknown): boolean {
  return sqlStateOf(error) === lockTimeout;
}

/** In milliseconds. A longer wait fails (`isLockTimeout`). */
export async function boundLockWaits(tx: Transaction, atMostMs: number): Promise<void> {
  await tx.run(sql`SELECT set_config('lock_timeout', ${String(atMostMs)}, true)`);
}

/**
 * Until the transaction ends, each prepared statement uses one generic plan, which finds rows by their keys. Use it for frequent statements
 * on partitioned tables: without it, Postgres makes a new plan for each run, which takes 1.0 ms, and the write only 0.3 ms.
 */
export async function planOnce(tx: Transaction): Promise<void> {
  // Postgres may make the plan while the tables are empty, and use it after they have grown. So the plan must not read whole tables.
  await tx.run(sql`SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
                          set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`);
}

const lockTimeout = '55P03';
