/** Provides the migrated database of the current test file. */
import type { DataSource } from 'typeorm';
import { readConfig } from '../../../config.ts';
import { Secret } from '../../../platform/core/secret.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { Database } from '../../../platform/infra/postgres/database.ts';
import type { AddressedDeps, StudentDeps, VaultDeps } from '../../../domain/deps.ts';
import type { PasskeyDeps } from '../../../domain/identity/passkeys/registration.ts';
import { passkeySitesOf } from '../../../domain/identity/passkeys/sites.policy.ts';
import { createVault } from '../../../platform/infra/keys/vault.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import { atEndOfFile } from '../../run/lifecycle.ts';
import { testStack } from './stack.ts';
import { testObjectStore } from './storage.ts';

let opened: Promise<DataSource> | undefined;

/** @returns a connection to the migrated, initially empty database of the current test file */
export function testDatabase(): Promise<DataSource> {
  opened ??= open();
  return opened;
}

async function open(): Promise<DataSource> {
  await testStack();
  const source = await createDataSource(readConfig().database, 'club-test').initialize();
  atEndOfFile(async () => {
    opened = undefined;
    await source.destroy();
  });
  return source;
}

export function depsOn(db: Database): VaultDeps {
  return { db, vault: createVault(readConfig().masterKey) };
}

/** They send no notifications. */
export async function testDeps(): Promise<AddressedDeps & StudentDeps & PasskeyDeps> {
  const source = await testDatabase();
  return {
    db: new Database(source, { notify() {} }),
    vault: createVault(readConfig().masterKey),
    storage: await testObjectStore(),
    publicUrl: readConfig().api.publicUrl,
    classroomUrl: readConfig().classroomUrl,
    passkeySites: passkeySitesOf(readConfig()),
  };
}

/** @returns a connection to an empty database of the test; the test destroys the connection */
export async function scratchDatabase(): Promise<DataSource> {
  const source = await testDatabase();
  const name = `scratch_${newId().replaceAll('-', '')}`;
  await source.query(`CREATE DATABASE ${name}`);
  return createDataSource({ ...readConfig().database, url: databaseUrl(name), poolSize: 5 }, 'club-test').initialize();
}

function databaseUrl(name: string): Secret {
  const url = new URL(readConfig().database.url.reveal());
  url.pathname = `/${name}`;
  return new Secret(url.href);
}

/**
 * Tables that may change even if the tested request changes nothing. Every call changes `rate_limit_counters`, and the first start of a
 * process changes `vault_secrets`.
 */
const uncounted = new Set(['rate_limit_counters', 'vault_secrets']);

/** Counts the rows of each table. A refused request must not change these numbers. */
export async function rowCounts(): Promise<Record<string, number>> {
  const source = await testDatabase();
  const tables = source.entityMetadatas.map(({ tableName }) => tableName).filter((name) => !uncounted.has(name));
  const [counts] = await source.query<Record<string, number>[]>(
    `SELECT ${tables.map((table) => `(SELECT count(*)::int FROM ${table}) AS ${table}`).join(', ')}`,
  );
  return counts ?? {};
}

/** @returns the counts after a number of accepted writes of administrators, which add entries to the audit log (AUD-1) */
export const withAuditEntries = (counts: Readonly<Record<string, number>>, added: number): Record<string, number> => ({
  ...counts,
  audit_entries: (counts['audit_entries'] ?? 0) + added,
});

/**
 * Searches for a text in all columns of all tables, even in bytes, and in any letter case. @returns the columns that contain the text, as
 * `table.column`. For a partition, the name is the name of the main table
 */
export async function columnsHolding(text: string): Promise<string[]> {
  const source = await testDatabase();
  const columns = await source.query<{ table: string; column: string; type: string }[]>(
    `SELECT table_name AS table, column_name AS column, data_type AS type FROM information_schema.columns
      WHERE table_schema = 'public' AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = table_name::regclass) ORDER BY 1, 2`,
  );
  const found = await Promise.all(
    columns.map(async ({ table, column, type }) => {
      const holds =
        type === 'bytea'
          ? `position(convert_to($1, 'UTF8') IN "${column}") > 0`
          : `strpos(lower("${column}"::text), lower($1)) > 0`;
      const [row] = await source.query<unknown[]>(`SELECT 1 FROM "${table}" WHERE ${holds} LIMIT 1`, [text]);
      return row ? [`${table}.${column}`] : [];
    }),
  );
  return found.flat();
}

/** The facts of a club that no relay has handled yet, oldest first. */
export async function factsOf(clubId: Id): Promise<{ type: string; studentId: Id }[]> {
  const source = await testDatabase();
  return source.query<{ type: string; studentId: Id }[]>(
    `SELECT type, student_id AS "studentId" FROM facts WHERE club_id = $1 ORDER BY seq`,
    [clubId],
  );
}

/** The templates of the e-mails to an owner, oldest first. @param ownerId the student's, administrator's or invitation's id */
export async function mailsTo(ownerId: Id): Promise<string[]> {
  const source = await testDatabase();
  const rows = await source.query<{ template: string }[]>(
    `SELECT template FROM transactional_mails
      WHERE $1 IN (student_id, administrator_id, invitation_id) AND status = 'pending' ORDER BY created_at, id`,
    [ownerId],
  );
  return rows.map(({ template }) => template);
}
