/** Counters of the rate limits in Postgres, on connections of their own: a busy business pool must not delay them, nor they it. */
import { Pool } from 'pg';
import { RateLimiterPostgres } from 'rate-limiter-flexible';
import type { Secret } from '../../platform/core/secret.ts';
import type { CounterStore } from './counter-store.ts';

const table = 'rate_limit_counters';
/** A count is one short upsert, so a few connections carry thousands a second. */
const connections = 4;
const sweepEveryMs = 30_000;
/** Small enough that one page stays far below the deadline of a statement. */
const sweepPage = 1_000;

/** A {@link CounterStore} that also clears what has expired, which Postgres does not do by itself. */
export interface PostgresCounters extends CounterStore {
  /** Deletes the counters that have expired. @returns how many there were */
  clearExpired(): Promise<number>;
}

/** @param url of a database whose migrations have run: they create the table */
export function openPostgresCounters(url: Secret, deadlineMs: number): PostgresCounters {
  const pool = new Pool({
    connectionString: url.reveal(),
    application_name: 'rate limits',
    max: connections,
    keepAlive: true,
    connectionTimeoutMillis: deadlineMs,
    query_timeout: deadlineMs,
    statement_timeout: deadlineMs,
  });
  pool.on('error', () => undefined); // an idle connection was cut: the pool has dropped it, the next count opens another
  const counters = new RateLimiterPostgres({
    storeClient: pool,
    storeType: 'pool',
    tableName: table,
    tableCreated: true,
    keyPrefix: '',
    points: 0, // limits are judged by the limiter, which needs the count alone
    duration: 0,
    clearExpiredByTimeout: false, // the library's own sweep is one unbounded DELETE and cannot be stopped
  });

  async function clearExpired(): Promise<number> {
    let cleared = 0;
    for (;;) {
      const page = await pool.query(
        `DELETE FROM ${table} WHERE key IN
          (SELECT key FROM ${table} WHERE expire < $1 ORDER BY expire LIMIT ${sweepPage} FOR UPDATE SKIP LOCKED)`,
        [Date.now()], // the library writes expiries by the machine's clock
      );
      cleared += page.rowCount ?? 0;
      if ((page.rowCount ?? 0) < sweepPage) return cleared;
    }
  }
  const sweep = setInterval(() => {
    clearExpired().catch(() => undefined); // what is left is cleared the next time
  }, sweepEveryMs).unref();

  return {
    clearExpired,
    async increment(key, keepSeconds) {
      const { consumedPoints } = await counters.penalty(key, 1, { customDuration: keepSeconds });
      return consumedPoints;
    },
    async ready() {
      await pool.query(`SELECT 1 FROM ${table} LIMIT 1`);
    },
    async close() {
      clearInterval(sweep);
      await pool.end();
    },
  };
}
