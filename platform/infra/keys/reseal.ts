/** Reseals values of former keys in batches, while the service runs. A stopped run can be continued (ADR 40). */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../postgres/database.ts';
import { raw, sql } from '../postgres/sql.ts';
import { SealUnreadable, sealHeaderBytes, type Vault } from './vault.ts';
import { otherColumns, ownColumn, sealedColumns, type SealedColumn } from './sealed-columns.ts';

export interface UnreadableValue {
  /** `table.column`. */
  column: string;
  id: string;
}

export interface Resealed {
  resealed: number;
  /** Readable values that are still under another key, because other processes wrote them or locked their rows. */
  remaining: number;
  unreadable: readonly UnreadableValue[];
}

export interface ResealOptions {
  /** Gets `table.column` and the number of values of each batch. */
  onResealed?: (column: string, count: number) => void;
  /** In values. */
  batch?: number;
  /** Passes through all columns. Several may be needed, because other processes write values or lock rows meanwhile. */
  passes?: number;
  /** The pause between two passes; one second if absent. The next pass finds values that were written under a former key meanwhile. */
  pause?: () => Promise<unknown>;
}

/** One transaction takes about ten milliseconds, so other writers wait at most this long. */
const usualBatch = 200;
const mostPasses = 10;
const headerBytes = raw(String(sealHeaderBytes));
const usualPauseMs = 1_000;

/**
 * A value that changes during the run keeps its change. Several runs at the same time are safe. A killed run loses nothing, because the
 * next run finds every value under another key.
 */
export async function reseal(db: Database, vault: Vault, options: ResealOptions = {}): Promise<Resealed> {
  const { passes = mostPasses, pause = () => sleep(usualPauseMs) } = options;
  let resealed = 0;
  for (let pass = 1; pass <= passes; pass++) {
    const went = await goThrough(db, vault, otherColumns, options);
    // A pass without a readable value proves that no process wrote under another key since the last pass.
    const isSettled = pass > 1 && went.readable === 0;
    // The service's own key is last. Until then, no process starts without the former key.
    const own = isSettled ? await goThrough(db, vault, [ownColumn], options) : nothing;
    resealed += went.resealed + own.resealed;
    if (isSettled && own.readable === 0) return endOf(resealed, [went, own]);
    await pause();
  }
  return endOf(resealed, [await goThrough(db, vault, sealedColumns, { ...options, looksOnly: true })]);
}

interface Went {
  readable: number;
  resealed: number;
  unreadable: readonly UnreadableValue[];
}

const nothing: Went = { readable: 0, resealed: 0, unreadable: [] };

const endOf = (resealed: number, last: readonly Went[]): Resealed => ({
  resealed,
  remaining: last.reduce((sum, { readable }) => sum + readable, 0),
  unreadable: last.flatMap(({ unreadable }) => unreadable),
});

interface SealedRow {
  id: string;
  header: Buffer;
  sealed: Buffer;
}

/** Reseals in the order of the index: first the values before the current key's values, then the values after them. */
async function goThrough(
  db: Database,
  vault: Vault,
  columns: readonly SealedColumn[],
  { batch = usualBatch, onResealed, looksOnly = false }: ResealOptions & { looksOnly?: boolean },
): Promise<Went> {
  const went = { readable: 0, resealed: 0, unreadable: [] as UnreadableValue[] };
  const [current] = vault.headers;
  for (const column of columns)
    for (const side of [sql`<`, sql`>`]) {
      let after: SealedRow | undefined;
      for (;;) {
        const rows: SealedRow[] = await nextRows(db, column, sql`${column.header} ${side} ${current}`, after, batch);
        const opened = rows.map((row) => ({ ...row, text: textOf(vault, row) }));
        const readable = opened.flatMap(({ text, ...row }) => (text === undefined ? [] : [{ ...row, text }]));
        const unreadable = opened.filter(({ text }) => text === undefined);
        went.readable += readable.length;
        went.unreadable.push(...unreadable.map(({ id }) => ({ column: column.name, id })));
        if (readable.length > 0 && !looksOnly) {
          const exchanged = await exchange(db, vault, column, readable);
          went.resealed += exchanged;
          onResealed?.(column.name, exchanged);
        }
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

/** Exchanges only values that did not change. Locked rows wait for the next pass. */
async function exchange(
  db: Database,
  vault: Vault,
  { table, id, idType, column }: SealedColumn,
  rows: readonly (SealedRow & { text: string })[],
): Promise<number> {
  const sealed = rows.map((row) => vault.seal(row.text, row.id));
  // The index of sealed values begins with the header. A table may have no other index of its ids.
  const isSameHeader = (values: 'given' | 'held') =>
    sql`substr(subject.${column}, 1, ${headerBytes}) = substr(${raw(values)}.before, 1, ${headerBytes})`;
  return db.run(sql`
    WITH held AS MATERIALIZED (
           SELECT given.* FROM ${table} subject
             JOIN unnest(${rows.map((row) => row.id)}::${idType}[], ${rows.map((row) => row.sealed)}::bytea[], ${sealed}::bytea[])
               AS given (id, before, after) ON subject.${id} = given.id AND ${isSameHeader('given')}
            WHERE subject.${column} = given.before FOR NO KEY UPDATE OF subject SKIP LOCKED)
    UPDATE ${table} subject SET ${column} = held.after FROM held
     WHERE subject.${id} = held.id AND ${isSameHeader('held')} AND subject.${column} = held.before`);
}
