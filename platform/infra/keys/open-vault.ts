/** The vault of a process, checked at its start (ADR 40). */
import type { DataSource } from 'typeorm';
import { createDataSource, type DatabaseSettings } from '../../../entities/data-source.ts';
import { VaultSecret } from '../../../entities/keys/vault-secret.ts';
import { Secret } from '../../core/secret.ts';
import { StartProblem } from '../../core/start-problem.ts';
import { Queries, type Database } from '../postgres/database.ts';
import { sql } from '../postgres/sql.ts';
import { createVault, firstLastingKey, keyIdOf, SealUnreadable, type Vault } from './vault.ts';
import { mailAddressLabel } from './address-keys.ts';
import { otherColumns, ownColumn, type SealedColumn } from './sealed-columns.ts';

export interface MasterKeys {
  /** Seals and derives. */
  masterKey: Secret<Buffer>;
  /** These keys only open and verify. */
  formerMasterKeys: readonly Secret<Buffer>[];
}

/** @throws StartProblem like {@link readVault}; the connections to Postgres are closed then */
export async function openVault(db: Database, keys: MasterKeys): Promise<Vault> {
  try {
    return await readVault(db, keys);
  } catch (error) {
    await db.source.destroy();
    throw error;
  }
}

/**
 * One key hashes all addresses in a database. The first process that reads its vault chooses this key permanently.
 * @throws StartProblem with the name of every table that has values of a missing key
 */
export async function readVault(db: Queries, keys: MasterKeys): Promise<Vault> {
  const ring = createVault(keys.masterKey, { former: keys.formerMasterKeys });
  const lasting = await findLastingKey(db, keys);
  const known = 'problems' in lasting ? lasting.problems : [];
  const others = await valuesOfOtherKeys(db, ring);
  // If no value of a column opens, some may look by chance as if they named a key. Such a column gets only one line.
  const problems = [...known, ...others.filter(({ column }) => !known.some((problem) => problem.column === column))];
  if ('problems' in lasting || problems.length > 0) throw otherKeysNeeded(keys, problems);
  const { key, namesKeys } = lasting;
  return createVault(keys.masterKey, { former: keys.formerMasterKeys, lasting: key, namesKeys });
}

/**
 * Checks the keys as a start does, but writes nothing.
 * @returns the mistakes; none if the keys are right, or if Postgres cannot be used
 */
export async function keyMistakes({
  database,
  ...keys
}: MasterKeys & { database: DatabaseSettings }): Promise<string[]> {
  const source = await createDataSource(database, 'club-start')
    .initialize()
    .catch(() => undefined);
  if (!source) return [];
  try {
    return (await source.showMigrations()) ? [] : await mistakesOf(source, keys);
  } finally {
    await source.destroy();
  }
}

async function mistakesOf(source: DataSource, keys: MasterKeys): Promise<string[]> {
  const runner = source.createQueryRunner();
  await runner.startTransaction();
  try {
    await readVault(new Queries(runner.manager), keys);
    return [];
  } catch (error) {
    if (error instanceof StartProblem) return [error.message];
    throw error;
  } finally {
    await runner.rollbackTransaction();
    await runner.release();
  }
}

export interface KeyProblem {
  /** `table.column`. */
  column: string;
  /** The problem and its remedy. */
  text: string;
}

export const sentenceOf = ({ column, text }: KeyProblem): string => `${column}: ${text}`;

/** @returns an error with a line for each problem */
export const otherKeysNeeded = (
  { masterKey, formerMasterKeys }: MasterKeys,
  problems: readonly KeyProblem[],
): StartProblem =>
  new StartProblem(
    `MASTER_KEY is ${idOf(masterKey)}${formerMasterKeys.map((key) => `, with ${idOf(key)} of MASTER_KEYS_OLD`).join('')}; ` +
      `the database needs other keys, or more:\n${problems.map((problem) => `  - ${sentenceOf(problem)}`).join('\n')}`,
  );

/** @returns the key's id in hexadecimal */
export const idOf = (masterKey: Secret<Buffer>): string => keyIdOf(masterKey).toString('hex');

const lastingName = 'lasting key';

type LastingKey =
  | {
      key: Secret<Buffer>;
      /** Whether new sealed values contain the id of their key (ADR 40). */
      namesKeys: boolean;
    }
  | {
      problems: readonly KeyProblem[];
      /** Whether the database has a lasting key that no given key opens. */
      isKept: boolean;
    };

/**
 * @returns the key that hashes addresses, or the reason why there is none. If the database has none yet, this function stores one. But if
 * no given key opens the newest sealed values, the given key is wrong. It would lock out the right key permanently.
 */
export async function findLastingKey(db: Queries, { masterKey, formerMasterKeys }: MasterKeys): Promise<LastingKey> {
  const vault = createVault(masterKey, { former: formerMasterKeys });
  const stored = async () => (await db.manager.findOneBy(VaultSecret, { name: lastingName }))?.sealed;
  let sealed = await stored();
  if (!sealed) {
    const chosen = await keyOfAddresses(db, [masterKey, ...formerMasterKeys]);
    const locked = await lockedColumns(db, vault);
    if ('problem' in chosen || locked.length > 0)
      return { problems: [...('problem' in chosen ? [chosen.problem] : []), ...locked], isKept: false };
    // A database without a club contains no value that an earlier release must open.
    const isNew = (await db.one(sql`SELECT 1 FROM clubs LIMIT 1`)) === undefined;
    const sealer = createVault(masterKey, { former: formerMasterKeys, ...(isNew && { namesKeys: true }) });
    const text = firstLastingKey(chosen.of).reveal().toString('base64');
    await db.run(
      sql`INSERT INTO vault_secrets (name, sealed) VALUES (${lastingName}, ${sealer.seal(text, lastingName)}) ON CONFLICT DO NOTHING`,
    );
    sealed = await stored(); // Another process may have been faster.
  }
  if (!sealed) throw new Error('The lasting key was not stored');
  try {
    const key = new Secret(Buffer.from(vault.open(sealed, lastingName), 'base64'));
    return { key, namesKeys: formerMasterKeys.length > 0 || namesKey(sealed, vault) };
  } catch (error) {
    if (!(error instanceof SealUnreadable)) throw error;
    const text = `the service's own key is sealed under another key${nameOfKey(sealed)}. Add that to MASTER_KEYS_OLD.`;
    return { problems: [{ column: ownColumn.name, text }], isKept: true };
  }
}

const namesKey = (sealed: Buffer, { headers }: Vault) =>
  headers.some((header) => sealed.subarray(0, header.length).equals(header));

/** @returns a text such as ` (1a2b3c4d)` for a value that names its key */
const nameOfKey = (sealed: Buffer) => (sealed[0] === 1 ? ` (${sealed.toString('hex', 1, 5)})` : '');

/** The newest, because earlier versions may have changed the key without resealing. */
const studentsTried = 20;

/** Finds the given key with which earlier versions hashed addresses. */
async function keyOfAddresses(
  db: Queries,
  keys: readonly [Secret<Buffer>, ...Secret<Buffer>[]],
): Promise<{ of: Secret<Buffer> } | { problem: KeyProblem }> {
  const students = await db.rows<{ email: string; key: Buffer }>(
    sql`SELECT email, email_key AS key FROM students WHERE email_key IS NOT NULL ORDER BY id DESC LIMIT ${studentsTried}`,
  );
  const of = keys.find((key) => {
    const vault = createVault(key);
    return students.some((student) => student.key.equals(vault.derive(mailAddressLabel(student.email))));
  });
  if (of) return { of };
  if (students.length > 0)
    return {
      problem: {
        column: 'students.email_key',
        text: 'addresses are hashed with another key. Add that to MASTER_KEYS_OLD.',
      },
    };
  // No student's address is stored. A suppression's hash does not show its key, so the key is certain only if a single key is given.
  const isOpen = (await db.one(sql`SELECT 1 FROM mail_suppressions LIMIT 1`)) === undefined;
  if (isOpen || keys.length === 1) return { of: keys[0] };
  return {
    problem: {
      column: 'mail_suppressions.address_key',
      text: 'the rows of students do not show which key hashed these addresses. Start a worker once with only the former key, without MASTER_KEYS_OLD.',
    },
  };
}

/** The newest, because earlier versions may have changed the key without resealing. */
const valuesTried = 3;

/**
 * @returns a sentence for each column of which no newest value opens. If one opens, the given key is right, and the other values may belong
 * to a lost key
 */
async function lockedColumns(db: Queries, vault: Vault): Promise<KeyProblem[]> {
  const problems: KeyProblem[] = [];
  for (const { name, table, id, column } of otherColumns) {
    const newest = await db.rows<SealedRow>(
      sql`SELECT ${id} AS id, ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL ORDER BY ${id} DESC LIMIT ${valuesTried}`,
    );
    if (newest.length === 0) continue;
    if (newest.some((row) => opens(vault, row.sealed, row.id))) return [];
    problems.push({
      column: name,
      text: `the newest values open under no key that is given (${idsOf(newest)}). Add their key to MASTER_KEYS_OLD.`,
    });
  }
  return problems;
}

/** A query returns one sealed value for each beginning, so its result has a few hundred kilobytes. */
const beginningsALook = 1_000;
/** Limits of a message, for each column: its keys, and for each key the rows that are named and that are counted. */
const keysNamed = 20;
const rowsNamed = 5;
const rowsCounted = 1_000;

/** @returns one sentence for each column and each missing key */
async function valuesOfOtherKeys(db: Queries, vault: Vault): Promise<KeyProblem[]> {
  const problems: KeyProblem[] = [];
  for (const column of otherColumns) {
    const locked = await lockedBeginnings(db, column, vault);
    for (const header of locked.slice(0, keysNamed)) problems.push(await problemOf(db, column, header, vault));
    if (locked.length > keysNamed)
      problems.push({ column: column.name, text: 'there are values under more keys that are not given.' });
  }
  return problems;
}

/**
 * A value of an earlier release names no key, but one of 256 looks by chance as if it did. Such a value opens here.
 * @returns the beginnings whose values do not open, at most one more than a message names
 */
async function lockedBeginnings(db: Queries, column: SealedColumn, vault: Vault): Promise<Buffer[]> {
  const locked: Buffer[] = [];
  let after: Buffer | undefined;
  for (;;) {
    const found = await beginnings(db, column, after);
    const others = found.filter(({ header }) => !vault.headers.some((ours) => ours.equals(header)));
    locked.push(...others.filter(({ id, sealed }) => !opens(vault, sealed, id)).map(({ header }) => header));
    after = found.at(-1)?.header;
    if (found.length < beginningsALook || locked.length > keysNamed) return locked.slice(0, keysNamed + 1);
  }
}

interface SealedRow {
  id: string;
  sealed: Buffer;
}

/** @returns different beginnings, each with the first value that begins so. Postgres finds each by one step in the index */
function beginnings(
  db: Queries,
  { table, id, column, header }: SealedColumn,
  after: Buffer | undefined,
): Promise<(SealedRow & { header: Buffer })[]> {
  const end = Buffer.of(2);
  const next = (begins: ReturnType<typeof sql>) =>
    sql`SELECT ${header} AS header, ${id} AS id, ${column} AS sealed FROM ${table}
         WHERE ${column} IS NOT NULL AND ${header} ${begins} AND ${header} < ${end}::bytea ORDER BY ${header}, ${id} LIMIT 1`;
  return db.rows(sql`
    WITH RECURSIVE seen AS (
      (${next(after === undefined ? sql`>= ${Buffer.of(1)}::bytea` : sql`> ${after}::bytea`)})
      UNION ALL
      SELECT later.* FROM seen, LATERAL (${next(sql`> seen.header`)}) later)
    SELECT header, id, sealed FROM seen LIMIT ${beginningsALook}`);
}

async function problemOf(
  db: Queries,
  { name, table, id, column, header }: SealedColumn,
  begins: Buffer,
  vault: Vault,
): Promise<KeyProblem> {
  const rows = await db.rows<SealedRow>(
    sql`SELECT ${id} AS id, ${column} AS sealed FROM ${table}
         WHERE ${column} IS NOT NULL AND ${header} = ${begins} ORDER BY ${header}, ${id} LIMIT ${rowsCounted}`,
  );
  const locked = rows.filter((row) => !opens(vault, row.sealed, row.id));
  const count =
    locked.length === rowsCounted
      ? `${rowsCounted} values or more are`
      : locked.length === 1
        ? '1 value is'
        : `${locked.length} values are`;
  const text = `${count} under the key ${begins.toString('hex', 1)}, which is not given (${idsOf(locked)}). Add it to MASTER_KEYS_OLD.`;
  return { column: name, text };
}

/** @returns a text such as "id1, id2 and more" */
const idsOf = (rows: readonly SealedRow[]) =>
  rows
    .slice(0, rowsNamed)
    .map(({ id }) => id)
    .join(', ') + (rows.length > rowsNamed ? ' …' : '');

function opens(vault: Vault, sealed: Buffer, context: string): boolean {
  try {
    vault.open(sealed, context);
    return true;
  } catch (error) {
    if (error instanceof SealUnreadable) return false;
    throw error;
  }
}
