/**
 * Makes databases that wrap the real database. Some of them run all statements in one transaction, count statements, or observe statements.
 * Others record how transactions end, or lose connections.
 */
import type { DataSource, EntityManager } from 'typeorm';
import { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import type { Sql } from '../../../platform/infra/postgres/sql.ts';
import { sqlStateOf } from '../../../platform/infra/postgres/errors.ts';

/** @returns a database that runs all transactions and statements in `tx` */
export function databaseOf(tx: Transaction): Database {
  const { manager } = tx;
  const source = {
    manager,
    queryRunner: manager.queryRunner,
    query: (statement: string, parameters?: unknown[]) => manager.query(statement, parameters),
    transaction: <T>(work: (inner: EntityManager) => Promise<T>) => work(manager),
  };
  return new Database(source as unknown as DataSource, { notify() {} });
}

/** @returns the database with a count of transactions. A higher count than expected means a repetition after a deadlock */
export function countingTransactions(db: Database): Database & { transactions: () => number } {
  let count = 0;
  const source = instead(db.source, 'transaction', (call, parameters) => {
    count++;
    return call(...parameters);
  });
  return Object.assign(new Database(source, db.notifier), { transactions: () => count });
}

/** @returns the database, which then records the SQLSTATE of each failed try of a transaction */
export function recordingEnds(db: Database): Database & { ends: string[] } {
  const ends: string[] = [];
  const source = instead(db.source, 'transaction', async (call, parameters) => {
    try {
      return await call(...parameters);
    } catch (error) {
      const state = sqlStateOf(error);
      if (state !== undefined) ends.push(state);
      throw error;
    }
  });
  return Object.assign(new Database(source, db.notifier), { ends });
}

type Loss = 'before' | 'after' | undefined;

/**
 * @param fails a function that is called and awaited before each transaction, and before each statement outside a transaction. If it
 * returns `'after'`, the commit succeeds, but the connection is lost before the answer
 */
export function unreliable(db: Database, fails: () => Loss | Promise<Loss>): Database {
  const connectionLoss = () => new Error('Connection terminated unexpectedly');
  const tried = async (call: Call, parameters: unknown[]) => {
    const when = await fails();
    if (when === 'before') throw connectionLoss();
    const result = await call(...parameters);
    if (when === 'after') throw connectionLoss();
    return result;
  };
  const { driver } = db.source as unknown as { driver: { master: object } };
  const master = instead(driver.master, 'query', tried); // prepared statements use the pool directly
  const parts = {
    driver: new Proxy(driver, { get: (target, key) => (key === 'master' ? master : member(target, key)) }),
  };
  const own = instead(instead(db.source, 'transaction', tried), 'query', tried);
  const manager: EntityManager = new Proxy(instead(db.source.manager, 'query', tried), {
    get: (target, key) => (key === 'dataSource' ? source : member(target, key)),
  });
  const source: DataSource = new Proxy(own, {
    get: (target, key) => (key === 'driver' ? parts.driver : key === 'manager' ? manager : member(target, key)),
  });
  return new Database(source, db.notifier);
}

/** @returns the database, which then calls `look` just before each commit */
export function watching(database: Database, look: (tx: Transaction) => Promise<unknown>): Database {
  const source = instead(database.source, 'transaction', (call, [work]) =>
    call(async (manager: EntityManager) => {
      const result = await (work as (inner: EntityManager) => Promise<unknown>)(manager);
      await look(new Transaction(manager));
      return result;
    }),
  );
  return new Database(source, database.notifier);
}

export function impatient(db: Database, lockTimeoutMs: number): Database {
  const source = instead(db.source, 'transaction', (call, [work]) =>
    call(async (manager: EntityManager) => {
      await manager.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
      return (work as (inner: EntityManager) => Promise<unknown>)(manager);
    }),
  );
  return new Database(source, db.notifier);
}

export function countingStatements(db: Database): Database & { statements: () => number } {
  let count = 0;
  const source = instead(db.source, 'transaction', (call, [work]) =>
    call((manager: EntityManager) => {
      const counted = instead(manager, 'query', (query, parameters) => {
        count++;
        return query(...parameters);
      });
      return (work as (inner: EntityManager) => Promise<unknown>)(counted);
    }),
  );
  return Object.assign(new Database(source, db.notifier), { statements: () => count });
}

/**
 * @param onStatement a function that is called and awaited before each statement outside a transaction. If it throws, the statement does
 * not run, and the caller gets the error
 */
export function observing(db: Database, onStatement: (statement: Sql) => unknown): Database {
  const observed = (database: Database, method: 'rows' | 'one' | 'run') =>
    instead(database, method, async (call, [statement]) => {
      await onStatement(statement as Sql);
      return call(statement);
    });
  return observed(observed(observed(db, 'rows'), 'one'), 'run');
}

type Call = (...parameters: unknown[]) => unknown;

function instead<T extends object>(object: T, method: string, how: (call: Call, parameters: unknown[]) => unknown): T {
  return new Proxy(object, {
    get(target, key) {
      const value = member(target, key);
      return key === method ? (...parameters: unknown[]) => how(value as Call, parameters) : value;
    },
  });
}

function member(target: object, key: string | symbol): unknown {
  const value: unknown = Reflect.get(target, key, target);
  return typeof value === 'function' ? value.bind(target) : value;
}
