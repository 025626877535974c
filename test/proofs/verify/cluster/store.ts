/** Creates the store of the cluster, with runs and visibility: two databases in Postgres, as deploy/compose.yaml creates them. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { runCommand } from '../../../../dev/stack/commands.ts';
import { databases, type ClusterStore } from './configuration.ts';

const user = 'temporal';

/**
 * Creates a separate role for Temporal, because the role of the service has time limits.
 * @param url the URL of a superuser
 */
export async function makeStore(url: string, sqlTool: string): Promise<ClusterStore> {
  const password = randomUUID();
  const { hostname, port } = new URL(url);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`CREATE ROLE ${user} LOGIN PASSWORD '${password}'`);
    for (const database of Object.values(databases)) await client.query(`CREATE DATABASE ${database} OWNER ${user}`);
  } finally {
    await client.end();
  }
  const env = { SQL_PLUGIN: 'postgres12', SQL_HOST: hostname, SQL_PORT: port, SQL_USER: user, SQL_PASSWORD: password };
  for (const [schema, database] of Object.entries(databases)) {
    const run = (...args: readonly string[]) => runCommand(sqlTool, ['--database', database, ...args], { env });
    await run('setup-schema', '--version', '0.0');
    await run('update-schema', '--schema-name', `postgresql/v12/${schema}`);
  }
  return { address: `${hostname}:${port}`, user, password };
}

export async function shardsOf({ address, password }: ClusterStore, owner: string): Promise<number> {
  const client = new pg.Client(`postgres://${user}:${password}@${address}/${databases.temporal}`);
  await client.connect();
  try {
    // The column `data` contains an encoded message, and the message contains the owner of the shard as `address-number-id`.
    const { rows } = await client.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM shards WHERE position($1::bytea IN data) > 0',
      [Buffer.from(`${owner}-`)],
    );
    return rows[0]?.count ?? 0;
  } finally {
    await client.end();
  }
}
