/** The time limits of our role in Postgres. `setup` sets them, and each start checks them. */
import pg from 'pg';
import { limitsOfTime } from '../../../../entities/data-source.ts';

const names = Object.keys(limitsOfTime) as (keyof typeof limitsOfTime)[];

/**
 * Postgres lets each role change its own limits. Open connections keep their old limits.
 * @param where `here`: in this database. `everywhere`: on the whole server, because tests use many databases
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

/** @returns missing or longer limits, each with the statement that sets it */
export async function missingLimits(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: keyof typeof limitsOfTime; setting: string }>(
    'SELECT name, setting FROM pg_settings WHERE name = ANY ($1)',
    [names],
  );
  const wrong = rows.filter(({ name, setting }) => Number(setting) === 0 || Number(setting) > limitsOfTime[name]);
  const statements = await statementsFor(client, 'here');
  return statements.filter((_, index) => wrong.some(({ name }) => name === names[index]));
}

export async function withClient<T>(
  databaseUrl: string,
  work: (client: pg.Client) => Promise<T>,
  connectWithinMs = 5_000,
): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: connectWithinMs });
  client.on('error', () => undefined); // A connection that breaks also rejects the query.
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
