/** Watches how long transactions of the service last. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

export interface LongTransaction {
  /** At least this long; at most `everyMs` longer. */
  ms: number;
  /** The statement at the last look. */
  statement: string;
}

const everyMs = 20;

/** @returns a function that ends the watch, and tells the longest transaction of all connections of the service */
export async function watchTransactions(databaseUrl: string): Promise<{ stop: () => Promise<LongTransaction> }> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => undefined); // the stack ends after another error
  await client.connect();
  let longest: LongTransaction = { ms: 0, statement: '' };
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const { rows } = await client.query<LongTransaction>({
        name: 'watch',
        text: `SELECT extract(epoch FROM clock_timestamp() - xact_start)::float8 * 1000 AS ms, left(query, 200) AS statement
                 FROM pg_stat_activity
                WHERE backend_type = 'client backend' AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
                  AND datname = current_database() ORDER BY xact_start LIMIT 1`,
      });
      const [row] = rows;
      if (row && row.ms > longest.ms) longest = row;
      await sleep(everyMs);
    }
  })();
  watching.catch(() => undefined); // `stop` throws the error
  return {
    async stop() {
      isOver = true;
      await watching;
      await client.end();
      return longest;
    },
  };
}
