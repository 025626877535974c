/** Gives a club many records of each kind, so that every list is a full page of the largest records. */
import type { DataSource } from 'typeorm';
import type { Id } from '../../platform/core/ids.ts';

/** In characters. */
const longestTexts: readonly (readonly [table: string, column: string, characters: number])[] = [
  ['lessons', 'content', 100_000],
  ['courses', 'description', 5_000],
  ['agents', 'description', 5_000],
  ['agents', 'instructions', 20_000],
  ['repositories', 'description', 5_000],
  ['community_spaces', 'description', 2_000],
  ['community_posts', 'body', 20_000],
  ['community_comments', 'body', 5_000],
  ['lesson_comments', 'body', 5_000],
  ['assignments', 'prompt', 20_000],
  ['agent_questions', 'content', 8_000],
  ['agent_answers', 'content', 60_000],
  ['mentorship_sessions', 'agenda', 2_000],
];

/** Fills each text with characters of four bytes. @returns the columns that cannot be filled, with the reason */
export async function lengthenTexts(source: DataSource, clubId: Id): Promise<string[]> {
  const failed: string[] = [];
  for (const [table, column, characters] of longestTexts)
    try {
      await source.query(`UPDATE "${table}" SET "${column}" = repeat('😀', ${characters}) WHERE club_id = $1`, [
        clubId,
      ]);
    } catch (error) {
      failed.push(`${table}.${column}: ${(error as Error).message}`);
    }
  return failed;
}

/** This is more than a page. */
const copies = 120;
/** No operation lists these rows, such as the tables of the engine and of sessions. */
const unlisted = /^(facts|wakes|.*_sessions|pending_|rate_|vault_|one_time_|transactional_|.*_tallies|.*_months|clubs)/;

interface Column {
  name: string;
  type: string;
  isUnique: boolean;
  /** The column refers to another table and may be null. */
  mayNameNothing: boolean;
  isGenerated: boolean;
}

/**
 * Copies the club's largest row of every table, with new values in unique columns.
 * @returns the tables whose rows cannot be copied, with the reason
 */
export async function multiplyRows(source: DataSource, clubId: Id): Promise<string[]> {
  const failed: string[] = [];
  for (const table of await tablesOfClubs(source)) {
    const columns = await columnsOf(source, table);
    const plainColumns = columns.filter(({ isGenerated }) => !isGenerated);
    const values = plainColumns.map((column) => (column.isUnique ? fresh(column) : `largest."${column.name}"`));
    try {
      await source.query(
        `INSERT INTO "${table}" (${plainColumns.map(({ name }) => `"${name}"`).join(', ')})
         SELECT ${values.join(', ')}
           FROM (SELECT * FROM "${table}" AS each WHERE club_id = $1 ORDER BY length(each::text) DESC LIMIT 1) AS largest,
                generate_series(1, ${copies}) AS copy`,
        [clubId],
      );
    } catch (error) {
      failed.push(`${table}: ${(error as Error).message}`);
    }
  }
  return failed;
}

async function tablesOfClubs(source: DataSource): Promise<string[]> {
  const rows = await source.query<{ name: string }[]>(
    `SELECT relname AS name FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attname = 'club_id'
      WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace ORDER BY 1`,
  );
  return rows.map(({ name }) => name).filter((name) => !unlisted.test(name));
}

function columnsOf(source: DataSource, table: string): Promise<Column[]> {
  return source.query<Column[]>(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type, attgenerated <> '' OR attidentity <> '' AS "isGenerated",
            NOT attnotnull AND EXISTS (SELECT FROM pg_constraint WHERE conrelid = attrelid AND contype = 'f' AND attnum = ANY(conkey)) AS "mayNameNothing",
            EXISTS (SELECT FROM pg_index WHERE indrelid = attrelid AND indisunique AND attnum = ANY(indkey)
                       AND attnum = (SELECT key FROM unnest(indkey) WITH ORDINALITY AS keys (key, place)
                                      JOIN pg_attribute part ON part.attrelid = indrelid AND part.attnum = key AND part.attname NOT LIKE '%club_id'
                                     ORDER BY place DESC LIMIT 1)) AS "isUnique"
       FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [table],
  );
}

function fresh({ name, type, mayNameNothing }: Column): string {
  if (mayNameNothing) return 'NULL';
  if (name === 'email') return `md5(random()::text || copy) || '@example.com'`;
  if (type === 'uuid') return 'gen_random_uuid()';
  if (type === 'integer' || type === 'bigint' || type === 'smallint') return `largest."${name}" + copy`;
  if (type.startsWith('timestamp')) return `largest."${name}" + copy * interval '1 second'`;
  if (type === 'bytea') return `decode(md5(random()::text), 'hex')`;
  return `(md5(random()::text || copy))::${type}`;
}
