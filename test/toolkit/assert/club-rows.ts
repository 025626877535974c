/** Reads all rows of some clubs. A test compares them before and after a refused request, which must not change rows. */
import type { EntityMetadata } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';

/** Tables with counts of other tables' rows, which a background job updates, and the audit log, which also records reads (AUD-2). */
const counts: readonly string[] = [
  'audit_entries',
  'list_tallies',
  'list_tally_changes',
  'club_student_counts',
  'club_student_changes',
  'club_storage',
  'club_storage_changes',
  'webhook_tallies',
  'webhook_tally_changes',
];

/** @returns for each table, as text, the rows of the clubs and the rows that refer to them */
export async function rowsOfClubs(...clubIds: Id[]): Promise<Record<string, string[]>> {
  const source = await testDatabase();
  const selects = source.entityMetadatas
    .filter(({ tableName }) => !counts.includes(tableName))
    .flatMap((entity) => {
      const condition = conditionOf(entity);
      return condition === undefined
        ? []
        : [
            `SELECT '${entity.tableName}' AS "table", self::text AS row FROM ${entity.tableName} self WHERE ${condition}`,
          ];
    });
  const rows = await source.query<{ table: string; row: string }[]>(`${selects.join(' UNION ALL ')} ORDER BY 1, 2`, [
    clubIds,
  ]);
  const tables: Record<string, string[]> = {};
  for (const { table, row } of rows) (tables[table] ??= []).push(row);
  return tables;
}

/** @returns undefined if the rows of the table belong to no club */
function conditionOf(entity: EntityMetadata): string | undefined {
  if (entity.tableName === 'clubs') return 'id = ANY ($1)';
  if (hasClub(entity)) return 'club_id = ANY ($1)';
  const parents = entity.foreignKeys.filter(({ referencedEntityMetadata }) => hasClub(referencedEntityMetadata));
  if (parents.length === 0) return undefined;
  return parents
    .map(({ columns: [column], referencedEntityMetadata: { tableName } }) => {
      if (column === undefined) throw new Error(`A foreign key of ${entity.tableName} has no column.`);
      return `${column.databaseName} IN (SELECT id FROM ${tableName} WHERE club_id = ANY ($1))`;
    })
    .join(' OR ');
}

function hasClub({ columns }: EntityMetadata): boolean {
  return columns.some(({ databaseName }) => databaseName === 'club_id');
}
