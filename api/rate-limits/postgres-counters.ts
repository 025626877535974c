/** Counters in Postgres, on their own connections, so that counters and business statements do not delay each other. */
import { Pool } from 'pg';
import { gathered } from '../../platform/core/gathered.ts';
import type { Secret } from '../../platform/core/secret.ts';
import type { CounterStore } from './counter-store.ts';

const table = 'rate_limit_counters';
/** There are several connections, because one stalled connection must not block all calls. */
const countsAtOnce = 3;
/** One connection more, for the removal of expired counters. */
const connections = countsAtOnce + 1;
const sweepEveryMs = 30_000;
/** A page is small, so that a statement ends long before its time limit. */
const sweepPage = 1_000;

interface Increment {
  key: string;
  keepSeconds: number;
  by: number;
}

/** The keys are sorted, so that two processes lock the rows in one order. An expired counter starts at zero. */
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

/** Also removes expired counters, because Postgres has no expiry of rows. */
export interface PostgresCounters extends CounterStore {
  /** @returns the number of deleted counters */
  clearExpired(): Promise<number>;
}

/** @param url of a migrated database */
export function openPostgresCounters(url: Secret, deadlineMs: number): PostgresCounters {
  const pool = new Pool({
    connectionString: url.reveal(),
    application_name: 'rate limits',
    max: connections,
    keepAlive: true,
    connectionTimeoutMillis: deadlineMs,
    query_timeout: deadlineMs, // only the wait ends then; the time limit of the Postgres role ends the statement
  });
  pool.on('error', () => undefined); // an idle connection broke; the pool removes it, and the next count opens a new one
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
    // One statement has added all calls of a key. Each call gets the count that its own statement would have returned, in order.
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
        [Date.now()], // not the clock of Postgres, because the clock of this machine also set `expire`
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
