/**
 * Searches names and titles by their usual spelling, in any script and width (docs/adr/0061-search-in-every-script.md). Triggers fold new
 * values.
 */
import { likePattern } from '../../../core/text/text.policy.ts';
import type { Database } from '../database.ts';
import { raw, sql, type Sql } from '../sql.ts';

// oxlint-disable-next-line no-control-regex
const ascii = /^[\u0000-\u007F]*$/;

/**
 * Returns the SQL condition that a name contains a text, either as it was typed or in its usual spelling.
 * @param column the column with its alias, such as `student.name`; `student.name_folded` must exist too
 * @param typed the searched text, normalized like names before they are written
 */
export function nameMatches(column: string, typed: string): Sql {
  const asTyped = sql`${raw(column)} ILIKE ${likePattern(typed)} OR ${raw(column)}_folded LIKE searched_pattern(${typed})`;
  // If a name is already in its usual spelling, its folded value is null.
  return ascii.test(typed) ? sql`(${asTyped})` : sql`(${asTyped} OR ${raw(column)} ILIKE searched_pattern(${typed}))`;
}

export type FoldedTable = 'students' | 'certificates' | 'media';

/** The number of rows in a batch. */
const batch = 1_000;

/**
 * Folds one batch of the names that are older than the triggers. It is safe to repeat this function, and to run it twice at the same time.
 * @param columns the columns of names, each with a column `…_folded` and a trigger that writes the folded name
 * @returns the number of rows that were folded, and whether more rows may remain
 */
export async function foldOldNames(
  db: Database,
  table: FoldedTable,
  columns: readonly string[],
): Promise<{ folded: number; more: boolean }> {
  const unfolded = columns
    .map((name) => `(${name}_folded IS NULL AND searched_spelling(${name}) <> lower(${name}))`)
    .join(' OR ');
  const folded = await db.run(sql`
    UPDATE ${raw(table)} SET ${raw(columns.map((name) => `${name} = ${name}`).join(', '))}
     WHERE id IN (SELECT id FROM ${raw(table)} WHERE ${raw(unfolded)} ORDER BY id LIMIT ${batch} FOR UPDATE SKIP LOCKED)`);
  return { folded, more: folded === batch };
}
