/**
 * Removes rows with a missing event, delivery or endpoint. These tables have no foreign keys, because the checks of foreign keys cost more
 * than the insertion of the rows (ADR 38). Each round reads the next part of each table, and begins again after the end.
 */
import { UpkeepRound } from '../../entities/facts/upkeep-round.ts';
import type { Database, Transaction } from '../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../platform/infra/postgres/sql.ts';
import type { Id } from '../../platform/core/ids.ts';

/** The number of rows of each table that one round reads. In a week, the rounds read a table with 5,000,000 rows once. */
const rowsPerRound = 500;

/**
 * Builds SQL that looks up the referenced row with a separate query for each reference. For a NOT EXISTS, Postgres could read the whole
 * referenced table and keep its ids in memory.
 */
function isMissing(table: string, id: string): string {
  return `(SELECT true FROM ${table} WHERE id = ${id} LIMIT 1) IS NULL`;
}

/**
 * For each table, the SQL condition that detects a missing reference. `key` is the column by which the sweep reads the table and deletes
 * orphans.
 */
const references = {
  webhook_deliveries: {
    key: 'id',
    isOrphan: `${isMissing('webhook_events', 'row.event_id')} OR ${isMissing('webhook_endpoints', 'row.endpoint_id')}`,
  },
  webhook_attempts: {
    key: 'delivery_id',
    isOrphan: isMissing('webhook_deliveries', 'row.delivery_id'),
  },
  webhook_bodies: { key: 'event_id', isOrphan: isMissing('webhook_events', 'row.event_id') },
} as const;
type Table = keyof typeof references;

/** @returns the number of removed orphans, normally 0 */
export async function sweepOrphans(db: Database, now: Date): Promise<number> {
  let orphans = 0;
  for (const table of Object.keys(references) as Table[])
    orphans += await db.transaction((tx) => sweep(tx, table, now));
  return orphans;
}

async function sweep(tx: Transaction, table: Table, now: Date): Promise<number> {
  const { key, isOrphan } = references[table];
  const name = `orphans of ${table}`;
  const round = await tx.manager.findOneBy(UpkeepRound, { name });
  const rows = await tx.rows<{ key: Id; orphan: boolean }>(
    sql`SELECT ${raw(key)} AS key, ${raw(isOrphan)} AS orphan FROM ${raw(table)} row
         WHERE ${raw(key)} > ${round?.position ?? '00000000-0000-0000-0000-000000000000'} ORDER BY ${raw(key)} LIMIT ${rowsPerRound}`,
  );
  const isWhole = rows.length < rowsPerRound;
  const completedAt = isWhole ? now : (round?.completedAt ?? null);
  await tx.manager.upsert(UpkeepRound, { name, completedAt, position: isWhole ? null : (rows.at(-1)?.key ?? null) }, [
    'name',
  ]);
  const orphans = rows.filter(({ orphan }) => orphan).map((row) => row.key);
  return orphans.length === 0
    ? 0
    : tx.run(sql`DELETE FROM ${raw(table)} row WHERE ${raw(key)} = ANY (${orphans}) AND (${raw(isOrphan)})`);
}
