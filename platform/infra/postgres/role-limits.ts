/** The time limits of our role in Postgres: put there by `setup`, looked at by each start. */
import pg from 'pg';
import { limitsOfTime } from '../../../entities/data-source.ts';

const names = Object.keys(limitsOfTime) as (keyof typeof limitsOfTime)[];

/**
 * Gives the role of this address our limits; each role may do that to itself. What is connected already keeps what it had.
 * @param where `here`: in this database; `everywhere`: in all of the server, for the many of tests
 */
export async function limitRole(databaseUrl: string, where: 'here' | 'everywhere' = 'here'): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    for (const statement of await statementsFor(client, where)) await client.query(statement);
  });
}

async function statementsFor(client: pg.Client, where: 'here' | 'everywhere'): Promise<string[]> {
  const { rows } = await client.query<{ role: string; database: string }>(
    'SELECT quote_ident(current_user) AS role, quote_ident(current_database()) AS database',
  );
  const { role = '', database = '' } = rows[0] ?? {};
  const of = where === 'here' ? `${role} IN DATABASE ${database}` : role;
  return names.map((name) => `ALTER ROLE ${of} SET ${name} = '${limitsOfTime[name]}ms'`);
}

/** @returns the limits that a connection does not have, or has longer than they should be: each with what to run */
export async function missingLimits(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: keyof typeof limitsOfTime; setting: string }>(
    'SELECT name, setting FROM pg_settings WHERE name = ANY ($1)',
    [names],
  );
  const wrong = rows.filter(({ name, setting }) => Number(setting) === 0 || Number(setting) > limitsOfTime[name]);
  const statements = await statementsFor(client, 'here');
  return statements.filter((_, index) => wrong.some(({ name }) => name === names[index]));
}

/** Connects, works, and ends the connection. @returns what the work returns */
export async function withClient<T>(
  databaseUrl: string,
  work: (client: pg.Client) => Promise<T>,
  connectWithinMs = 5_000,
): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: connectWithinMs });
  client.on('error', () => undefined); // a connection that breaks also rejects what was asked
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
