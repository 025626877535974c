/** Runs requests simultaneously. All requests begin and wait for a lock before any of them continues. */
import { Queries, Transaction, type Database } from '../../../platform/infra/postgres/database.ts';
import type { Sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';
import { until } from './until.ts';

/**
 * Locks the row of the club until all requests wait for it, and then releases the row.
 * @param begin starts requests that change a limited resource of a club, so that each request must lock the row of the club
 */
export async function allAtOnce<T>(clubId: Id, begin: () => readonly Promise<T>[]): Promise<T[]> {
  let requests: readonly Promise<T>[] = [];
  await withOpenTransaction(
    (tx) => tx.manager.query(`SELECT 1 FROM clubs WHERE id = $1 FOR NO KEY UPDATE`, [clubId]),
    async () => {
      requests = begin();
      await untilWaitingForLocks(requests.length);
    },
  );
  return Promise.all(requests);
}

/**
 * Locks a row that all requests need, and begins the requests in the order of the list. When the row is released, Postgres grants the lock
 * in this order. If two requests can share the lock, their order is not certain.
 * @param lock the statement that takes the lock, for example `SELECT 1 FROM tags WHERE id = … FOR UPDATE`
 */
export async function inThisOrder<Begin extends readonly (() => Promise<unknown>)[]>(
  lock: Sql,
  ...begin: Begin
): Promise<{ [Place in keyof Begin]: Awaited<ReturnType<Begin[Place]>> }> {
  const requests: Promise<unknown>[] = [];
  await withOpenTransaction(
    (tx) => tx.run(lock),
    async () => {
      for (const start of begin) {
        requests.push(start());
        await untilWaitingForLocks(requests.length);
      }
    },
  );
  return (await Promise.all(requests)) as { [Place in keyof Begin]: Awaited<ReturnType<Begin[Place]>> };
}

/**
 * Runs `work` in a transaction of a second connection, then runs `meanwhile`, and then commits the transaction.
 */
export async function withOpenTransaction(
  work: (tx: Transaction) => Promise<unknown>,
  meanwhile: (tx: Transaction) => Promise<void>,
): Promise<void> {
  const runner = (await testDatabase()).createQueryRunner();
  await runner.startTransaction();
  try {
    const tx = new Transaction(runner.manager);
    await work(tx);
    await meanwhile(tx);
    await runner.commitTransaction();
  } finally {
    if (runner.isTransactionActive) await runner.rollbackTransaction();
    await runner.release();
  }
}

/** @returns a database that runs all its statements and transactions inside this open transaction */
export function within(tx: Transaction): Database {
  const transaction = <T>(work: (tx: Transaction) => Promise<T>) => work(tx);
  return Object.assign(new Queries(tx.manager), { transaction }) as unknown as Database;
}

/** Resolves when this many statements of this database wait for locks of other transactions. */
export async function untilWaitingForLocks(count: number): Promise<void> {
  const source = await testDatabase();
  await until(`${count} waiting for locks`, { timeoutMs: 15_000 }, async () => {
    const [row] = await source.query<{ waiting: number }[]>(
      `SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return row && row.waiting >= count;
  });
}
