/** Counts the records of a club's list, exactly and at a cost that does not grow with the list (docs/adr/0011-lists-of-a-million.md). */
import type { Database, Queries, Transaction } from '../database.ts';
import { all, raw, sql } from '../sql.ts';
import type { TalliedList } from '../../../../entities/facts/values.ts';
import type { Id } from '../../../core/ids.ts';

/** The records of a list to count. */
export interface Tallied {
  list: TalliedList;
  clubId: Id;
  /** Limits the count to one subject. The subject is a delivery in a list of enrollments, and a course in a list of certificates. */
  subjectId?: Id | undefined;
  /**
   * Limits the count to records with the mark (true) or without the mark (false). Students can be marked as verified. Enrollments and
   * certificates can be marked as revoked.
   */
  marked?: boolean | undefined;
}

/** @returns the number of records: the tallies and the changes not yet rolled up, read in one statement */
export async function countListed(db: Queries, { list, clubId, subjectId, marked }: Tallied): Promise<number> {
  const where = all([
    sql`club_id = ${clubId} AND list = ${list}`,
    subjectId === undefined ? undefined : sql`subject_id = ${subjectId}`,
    marked === undefined ? undefined : sql`marked = ${marked}`,
  ]);
  const counted = await db.one<{ total: number }>(
    sql`SELECT coalesce(sum(part), 0)::int AS total FROM (
          SELECT sum(records) FROM list_tallies WHERE ${where}
          UNION ALL SELECT sum(records) FROM list_tally_changes WHERE ${where}) AS parts (part)`,
  );
  return counted?.total ?? 0;
}

/** One tally of a subject. */
type Counted = Required<Pick<Tallied, 'list' | 'subjectId' | 'marked'>>;

/**
 * Reads many tallies of a club in one statement.
 * @returns a function that returns the count of a subject; 0 for a subject without a tally
 */
export async function countEach(
  db: Queries,
  clubId: Id,
  { lists, subjectIds }: { lists: readonly TalliedList[]; subjectIds: readonly Id[] },
): Promise<(counted: Counted) => number> {
  const where = sql`club_id = ${clubId} AND list = ANY(${lists}) AND subject_id = ANY(${subjectIds})`;
  const rows = await db.rows<Counted & { total: number }>(
    sql`SELECT list, subject_id AS "subjectId", marked, sum(records)::int AS total FROM (
          SELECT list, subject_id, marked, records FROM list_tallies WHERE ${where}
          UNION ALL SELECT list, subject_id, marked, records FROM list_tally_changes WHERE ${where}) AS parts GROUP BY 1, 2, 3`,
  );
  const keyOf = ({ list, subjectId, marked }: Counted) => `${list} ${subjectId} ${marked}`;
  const totals = new Map(rows.map((row) => [keyOf(row), row.total]));
  return (counted) => totals.get(keyOf(counted)) ?? 0;
}

/**
 * Records changes of counts. Use this function for lists that no trigger counts. Several changes of the same count are first added up.
 * @param changes the changes of counts, in any order
 */
export async function addToTallies(
  tx: Transaction,
  changes: readonly (Counted & { clubId: Id; records: number })[],
): Promise<void> {
  const sums = new Map<string, (typeof changes)[number]>();
  for (const change of changes) {
    const name = `${change.clubId} ${change.list} ${change.subjectId} ${change.marked}`;
    sums.set(name, { ...change, records: change.records + (sums.get(name)?.records ?? 0) });
  }
  const rows = [...sums.values()].filter(({ records }) => records !== 0);
  if (rows.length === 0) return;
  await tx.run(sql`INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT * FROM unnest(${rows.map(({ clubId }) => clubId)}::uuid[], ${rows.map(({ list }) => list)}::text[], ${rows.map(({ subjectId }) => subjectId)}::uuid[],
      ${rows.map(({ marked }) => marked)}::boolean[], ${rows.map(({ records }) => records)}::int[])`);
}

const key = raw('club_id, list, subject_id, marked');

/**
 * Adds at most `limit` recorded changes to the tallies, in any order, and deletes these changes. Deletes each tally that reaches zero.
 * @returns the number of changes that were rolled up
 */
export async function rollUpListTallies(db: Database, limit: number): Promise<number> {
  return db.transaction(async (tx) => {
    const rolledUp = await tx.one<{ changes: number; empty: boolean }>(
      sql`WITH taken AS (
         DELETE FROM list_tally_changes
          WHERE ctid = ANY (ARRAY (SELECT ctid FROM list_tally_changes LIMIT ${limit} FOR UPDATE SKIP LOCKED))
      RETURNING *),
       folded AS (
         INSERT INTO list_tallies AS tally (${key}, records)
         SELECT ${key}, sum(records) FROM taken GROUP BY ${key} ORDER BY ${key}
         ON CONFLICT (${key}) DO UPDATE SET records = tally.records + excluded.records
      RETURNING records)
       SELECT (SELECT count(*)::int FROM taken) AS changes, EXISTS (SELECT FROM folded WHERE records = 0) AS empty`,
    );
    if (rolledUp?.empty) await tx.run(sql`DELETE FROM list_tallies WHERE records = 0`);
    return rolledUp?.changes ?? 0;
  });
}
