/** Seals anew, under the current key, what is sealed under another: in batches, beside traffic, and from where it was stopped (ADR 40). */
import { setTimeout as sleep } from 'node:timers/promises';
import { boundLockWaits, isConflict, type Database } from '../postgres/database.ts';
import { sql } from '../postgres/sql.ts';
import { SealUnreadable, type Vault } from '../vault.ts';
import { sealedColumns, type SealedColumn } from './sealed-columns.ts';

/** A value that opens under none of the keys. */
export interface UnreadableValue {
  /** `table.column`. */
  column: string;
  id: string;
}

export interface Resealed {
  /** Values that were sealed anew. */
  resealed: number;
  /** Values that can be read and are under another key still: processes write under it, or hold their rows. */
  left: number;
  unreadable: readonly UnreadableValue[];
}

export interface ResealOptions {
  /** Called after each batch with the column (`table.column`) and how many of its values were sealed anew. */
  onResealed?: (column: string, count: number) => void;
  /** Values a batch. */
  batch?: number;
  /** How often all columns are gone through: again, where values were written under another key meanwhile, or held by others. */
  passes?: number;
  /** Milliseconds before a pass after one that left something. */
  pauseMs?: number;
}

/** One transaction of some ten milliseconds: so long a row waits for it. */
const usualBatch = 200;
const mostPasses = 10;
const usualPauseMs = 1_000;
const longestLockWaitMs = 500;

/**
 * Seals everything anew that is not under the current key. A value that changes meanwhile keeps its change. Several may run at once, and
 * one that was killed has lost nothing: whatever is under another key is found by the next, and nothing else is read.
 * @param vault seals values that name their key
 */
export async function reseal(db: Database, vault: Vault, options: ResealOptions = {}): Promise<Resealed> {
  const { passes = mostPasses, pauseMs = usualPauseMs } = options;
  let resealed = 0;
  for (let pass = 1; ; pass++) {
    const unreadable: UnreadableValue[] = [];
    let found = 0;
    let done = 0;
    for (const column of sealedColumns) {
      const went = await goThrough(db, vault, column, options);
      found += went.found;
      done += went.resealed;
      unreadable.push(...went.unreadable);
    }
    resealed += done;
    const readable = found - unreadable.length;
    // Only a pass that finds nothing more shows that nothing was written under another key during the one before.
    if (readable === 0) return { resealed, left: 0, unreadable };
    if (pass >= passes) return { resealed, left: await leftOf(db, vault, unreadable.length), unreadable };
    if (done < readable) await sleep(pauseMs);
  }
}

interface Went {
  /** Values that were not under the current key. */
  found: number;
  resealed: number;
  unreadable: UnreadableValue[];
}

interface SealedRow {
  id: string;
  header: Buffer;
  sealed: Buffer;
}

/** Goes through the values of one column that are not under the current key, in the order of their index, below it and above it. */
async function goThrough(
  db: Database,
  vault: Vault,
  column: SealedColumn,
  { batch = usualBatch, onResealed }: ResealOptions,
): Promise<Went> {
  const went: Went = { found: 0, resealed: 0, unreadable: [] };
  const [current] = vault.headers;
  for (const side of [sql`<`, sql`>`]) {
    let after: SealedRow | undefined;
    for (;;) {
      const rows: SealedRow[] = await nextRows(db, column, sql`${column.header} ${side} ${current}`, after, batch);
      const opened = rows.map((row) => ({ ...row, text: textOf(vault, row) }));
      const readable = opened.flatMap(({ text, ...row }) => (text === undefined ? [] : [{ ...row, text }]));
      const unreadable = opened.filter(({ text }) => text === undefined);
      went.found += rows.length;
      went.unreadable.push(...unreadable.map(({ id }) => ({ column: column.name, id })));
      const exchanged = readable.length === 0 ? 0 : await exchange(db, vault, column, readable);
      went.resealed += exchanged;
      onResealed?.(column.name, exchanged);
      after = rows.at(-1);
      if (rows.length < batch) break;
    }
  }
  return went;
}

function nextRows(
  db: Database,
  { table, id, column, header }: SealedColumn,
  isOther: ReturnType<typeof sql>,
  after: SealedRow | undefined,
  batch: number,
): Promise<SealedRow[]> {
  const later = after === undefined ? sql`true` : sql`(${header}, ${id}) > (${after.header}, ${after.id})`;
  return db.rows<SealedRow>(sql`SELECT ${id} AS id, ${header} AS header, ${column} AS sealed FROM ${table}
    WHERE ${column} IS NOT NULL AND ${isOther} AND ${later} ORDER BY ${header}, ${id} LIMIT ${batch}`);
}

function textOf(vault: Vault, { sealed, id }: SealedRow): string | undefined {
  try {
    return vault.open(sealed, id);
  } catch (error) {
    if (error instanceof SealUnreadable) return undefined;
    throw error;
  }
}

/**
 * Exchanges the values, each only if it is as it was read. Rows are locked in the order of their ids (ENG-6).
 * @returns how many; 0 if others hold the rows for long: the next pass finds them again
 */
async function exchange(
  db: Database,
  vault: Vault,
  { table, id, idType, column }: SealedColumn,
  rows: readonly (SealedRow & { text: string })[],
): Promise<number> {
  const sealed = rows.map((row) => vault.seal(row.text, row.id));
  const given = sql`unnest(${rows.map((row) => row.id)}::${idType}[], ${rows.map((row) => row.sealed)}::bytea[], ${sealed}::bytea[])
    AS given (id, before, after)`;
  try {
    return await db.transaction(async (tx) => {
      await boundLockWaits(tx, longestLockWaitMs);
      return tx.run(sql`
        WITH given AS MATERIALIZED (SELECT * FROM ${given}),
             held AS MATERIALIZED (
               SELECT subject.${id} AS id FROM ${table} subject JOIN given ON subject.${id} = given.id
                WHERE subject.${column} = given.before ORDER BY subject.${id} FOR NO KEY UPDATE OF subject)
        UPDATE ${table} subject SET ${column} = given.after FROM given, held
         WHERE subject.${id} = held.id AND given.id = held.id AND subject.${column} = given.before`);
    });
  } catch (error) {
    if (isConflict(error)) return 0;
    throw error;
  }
}

async function leftOf(db: Database, { headers: [current] }: Vault, unreadable: number): Promise<number> {
  let left = 0;
  for (const { table, column, header } of sealedColumns) {
    const row = await db.one<{ count: number }>(sql`SELECT count(*)::int AS count FROM ${table}
      WHERE ${column} IS NOT NULL AND (${header} < ${current} OR ${header} > ${current})`);
    left += row?.count ?? 0;
  }
  return Math.max(0, left - unreadable);
}
