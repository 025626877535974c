/** The ceiling of an erasure: a loop that deletes the same rows in batches of 1,000, with one statement and one commit for each batch. */
import pg from 'pg';
import type { LoadedClub } from './load.ts';

const rowsPerBatch = 1_000;

/**
 * Children before parents, so that no cascade deletes a row.
 * @returns rows a second
 */
export async function deleteBare(databaseUrl: string, { id, endpointId }: LoadedClub): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const startedAt = performance.now();
    let rows = 0;
    rows += await deletePages(client, 'webhook_deliveries', 'endpoint_id', endpointId, [
      `DELETE FROM webhook_attempts WHERE delivery_id = ANY ($1)`,
      `DELETE FROM webhook_deliveries WHERE id = ANY ($1)`,
    ]);
    rows += await deletePages(client, 'webhook_events', 'club_id', id, [
      `DELETE FROM webhook_bodies WHERE event_id = ANY ($1)`,
      `DELETE FROM webhook_events WHERE id = ANY ($1)`,
    ]);
    rows += await deletePages(client, 'students', 'club_id', id, [`DELETE FROM students WHERE id = ANY ($1)`]);
    return (rows * 1_000) / (performance.now() - startedAt);
  } finally {
    await client.end();
  }
}

/** Pages by the primary key, because a page without a beginning would read the deleted rows again. */
async function deletePages(
  client: pg.Client,
  table: string,
  column: string,
  value: string,
  statements: readonly string[],
): Promise<number> {
  let deleted = 0;
  for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
    const { rows } = await client.query<{ id: string }>({
      name: `page-${table}`,
      text: `SELECT id FROM ${table} WHERE ${column} = $1 AND id > $2 ORDER BY id LIMIT ${rowsPerBatch}`,
      values: [value, after],
    });
    const ids = rows.map((row) => row.id);
    for (const text of statements)
      deleted += (await client.query({ name: text.slice(0, 60), text, values: [ids] })).rowCount ?? 0;
    if (ids.length < rowsPerBatch) return deleted;
    after = ids.at(-1) ?? '';
  }
}
