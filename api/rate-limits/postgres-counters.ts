/**
 * Counters of the rate limits in Postgres, on their own connections, so that counters and business statements do not delay each other.
 */
import { Pool } from 'pg';
import { gathered } from '../../platform/core/gathered.ts';
import type { Secret } from '../../platform/core/secret.ts';
import type { CounterStore } from './counter-store.ts';

const table = 'rate_limit_counters';
/** The maximum number of running count statements if a statement is slow: one stalled connection must not block all calls. */
const countsAtOnce = 3;
/** The counts get these connections, and the removal of expired counters gets one more. */
const connections = countsAtOnce + 1;
const sweepEveryMs = 30_000;
/** The number of expired counters that one statement deletes. Such a page takes much less time than a statement may take. */
const sweepPage = 1_000;

interface Increment {
  key: string;
  /** The lifetime of a new counter. */
  keepSeconds: number;
  by: number;
}

/**
 * The keys are sorted, so that two processes that count the same keys lock the rows in the same order. An expired counter starts at zero.
 */
const countCalls = {
  name: 'count_calls',
  text: `
    INSERT INTO ${table} AS counted (key, points, expire)
    SELECT key, points, expire FROM unnest($1::text[], $2::int[], $3::bigint[]) AS given (key, points, expire) ORDER BY key
    ON CONFLICT (key) DO UPDATE SET
      points = CASE WHEN counted.expire <= $4 THEN 0 ELSE counted.points END + excluded.points,
      expire = CASE WHEN counted.expire <= $4 THEN excluded.expire ELSE counted.expire END
    RETURNING key, points`,
};

const sumOf = (increments: readonly Increment[] = []) => increments.reduce((sum, { by }) => sum + by, 0);

/** A {@link CounterStore} that also removes expired counters, because Postgres has no expiry of rows. */
export interface PostgresCounters extends CounterStore {
  /** Deletes the expired counters. @returns the number of deleted counters */
  clearExpired(): Promise<number>;
}

/** @param url the address of a migrated database, because the migrations create the table */
export function openPostgresCounters(url: Secret, deadlineMs: number): PostgresCounters {
  const pool = new Pool({
    connectionString: url.reveal(),
    application_name: 'rate limits',
    max: connections,
    keepAlive: true,
    connectionTimeoutMillis: deadlineMs,
    query_timeout: deadlineMs, // the time limits of the Postgres role end statements
  });
  pool.on('error', () => undefined); // an idle connection broke: the pool has removed it, and the next count opens another connection
  const count = async (increments: readonly Increment[]) => {
    const now = Date.now();
    const ofKeys = Map.groupBy(increments, ({ key }) => key);
    const keys = [...ofKeys.keys()];
    const { rows } = await pool.query<{ key: string; points: number }>({
      ...countCalls,
      values: [
        keys,
        keys.map((key) => sumOf(ofKeys.get(key))),
        keys.map((key) => now + 1_000 * (ofKeys.get(key)?.[0]?.keepSeconds ?? 0)),
        now,
      ],
    });
    // One statement added all calls of a key together. Each call gets the count that it would have got alone, in order. So the last call
    // gets the count of the row.
    const counts = new Map(rows.map(({ key, points }) => [key, points - sumOf(ofKeys.get(key))]));
    return increments.map(({ key, by }) => {
      const own = (counts.get(key) ?? 0) + by;
      counts.set(key, own);
      return own;
    });
  };
  const increment = gathered(count, { atOnce: countsAtOnce });

  async function clearExpired(): Promise<number> {
    let cleared = 0;
    for (;;) {
      const page = await pool.query(
        `DELETE FROM ${table} WHERE key IN
          (SELECT key FROM ${table} WHERE expire < $1 ORDER BY expire LIMIT ${sweepPage} FOR UPDATE SKIP LOCKED)`,
        [Date.now()], // `expire` was also written by this machine's clock, not by Postgres
      );
      cleared += page.rowCount ?? 0;
      if ((page.rowCount ?? 0) < sweepPage) return cleared;
    }
  }
  const sweep = setInterval(() => {
    clearExpired().catch(() => undefined); // the next round removes the remaining counters
  }, sweepEveryMs).unref();

  return {
    clearExpired,
    increment: (key, keepSeconds, by = 1) => increment({ key, keepSeconds, by }),
    async read(key) {
      const { rows } = await pool.query<{ points: number }>(
        `SELECT points FROM ${table} WHERE key = $1 AND expire > $2`,
        [key, Date.now()],
      );
      return rows[0]?.points ?? 0;
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
