/** Writes thousands of sealed values, and reads from Postgres which key sealed each value. It does not use the code under test. */
import { randomBytes } from 'node:crypto';
import { newId } from '../../../../platform/core/ids.ts';
import { sealedColumns } from '../../../../platform/infra/keys/sealed-columns.ts';
import type { Database } from '../../../../platform/infra/postgres/database.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { SealUnreadable, type Vault } from '../../../../platform/infra/keys/vault.ts';
import { progress } from '../../faults/progress.ts';

const batch = 5_000;

/** Writes endpoints and closed notices as an earlier release did. Their sealed values contain no key id. */
export async function fillUnder(
  db: Database,
  vault: Vault,
  most: { notices: number; endpoints: number },
): Promise<void> {
  const now = new Date();
  const [clubId, connectionId] = [newId(), newId()];
  await db.run(
    sql`INSERT INTO clubs (id, name, slug, created_at) VALUES (${clubId}, 'Filled', ${`filled-${clubId}`}, ${now})`,
  );
  await db.run(sql`INSERT INTO sales_connections (id, club_id, platform, name, token_hash, created_at, rotated_at)
    VALUES (${connectionId}, ${clubId}, 'generic', 'Shop', ${randomBytes(32)}, ${now}, ${now})`);
  for (let count = 0; count < most.notices; count += batch) {
    const ids = Array.from({ length: Math.min(batch, most.notices - count) }, newId);
    await db.run(sql`INSERT INTO sales_notices (id, club_id, connection_id, platform, body, proof, status, received_at, processed_at, next_attempt_at)
      SELECT id, ${clubId}, ${connectionId}, 'generic', '{}', proof, 'ignored', ${now}, ${now}, ${now}
        FROM unnest(${ids}::uuid[], ${ids.map((id) => vault.seal(`proof ${id}`, id))}::bytea[]) AS notice (id, proof)`);
  }
  const ids = Array.from({ length: most.endpoints }, newId);
  await db.run(sql`INSERT INTO webhook_endpoints (id, club_id, url, event_types, secret, previous_secret, previous_secret_expires_at, created_at, updated_at)
    SELECT id, ${clubId}, 'https://93.184.216.34/', '{student.updated}', secret, previous, ${new Date(now.getTime() + 86_400_000)}, ${now}, ${now}
      FROM unnest(${ids}::uuid[], ${ids.map((id) => vault.seal(`secret ${id}`, id))}::bytea[], ${ids.map((id) => vault.seal(`previous ${id}`, id))}::bytea[])
        AS endpoint (id, secret, previous)`);
}

export async function valuesNotUnder(db: Database, keyId: Buffer): Promise<number> {
  let count = 0;
  for (const { table, column } of sealedColumns) {
    const row = await db.one<{ count: number }>(sql`SELECT count(*)::int AS count FROM ${table}
      WHERE ${column} IS NOT NULL AND substr(${column}, 1, 5) <> ${Buffer.concat([Buffer.of(1), keyId])}`);
    count += row?.count ?? 0;
  }
  return count;
}

/** @returns the number of unreadable or wrong values */
export async function readAll(db: Database, vault: Vault): Promise<number> {
  let unreadable = 0;
  for (const { name, table, id, column } of sealedColumns) {
    const rows = await db.rows<{ id: string; sealed: Buffer }>(
      sql`SELECT ${id} AS id, ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL`,
    );
    const wrong = rows.filter((row) => !isRight(vault, row)).length;
    if (wrong > 0) progress(`${name}: ${wrong} of ${rows.length} are unreadable or wrong`);
    unreadable += wrong;
  }
  return unreadable;
}

function isRight(vault: Vault, { id, sealed }: { id: string; sealed: Buffer }): boolean {
  try {
    const [, named] = /^(?:proof|secret|previous) ([0-9a-f-]{36})$/.exec(vault.open(sealed, id)) ?? [];
    return named === undefined || named === id;
  } catch (error) {
    if (error instanceof SealUnreadable) return false;
    throw error;
  }
}
