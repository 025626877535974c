/** Reads the tables of clubs from the answers of the contexts and from the entities. */
import type { DataSource, EntityMetadata } from 'typeorm';
import { Club } from '../../../entities/clubs/club.ts';
import type { Entity } from '../../../platform/infra/postgres/sql.ts';
import type { ClubRows } from '../../questions.ts';
import { erasureOrder, type ErasureNode, type TableReference, type TableRows, type WayToRows } from './order.policy.ts';

/** The facts about a table that its erasure needs. */
export interface ErasedTable {
  name: string;
  keys: readonly { column: string; type: string }[];
  hasClub: boolean;
}

export interface ClubTables {
  order: readonly ErasureNode[];
  /** The table `clubs`, whose row is erased last. */
  club: ErasedTable;
  tableOf(name: string): ErasedTable;
}

/** @throws Error if the answers contradict each other or the entities */
export function clubTables(source: DataSource, answers: readonly ClubRows[]): ClubTables {
  const known = new Map(answers.map(({ of }) => [source.getMetadata(of).tableName, tableFrom(source.getMetadata(of))]));
  const rows = answers.map(({ of, by, refersTo = [], mayArrive }): TableRows => {
    const metadata = source.getMetadata(of);
    return {
      table: metadata.tableName,
      by: wayOf(source, metadata, by),
      refersTo: refersTo.map((one) => nameOf(source, one)),
      ...(mayArrive && { mayArrive }),
    };
  });
  return {
    order: erasureOrder(rows, referencesOf(source)),
    club: tableFrom(source.getMetadata(Club)),
    tableOf(name) {
      const table = known.get(name);
      if (table === undefined) throw new Error(`No context has an answer for the table ${name}.`);
      return table;
    },
  };
}

/** @returns the foreign keys of the entities */
export function referencesOf(source: DataSource): readonly TableReference[] {
  return source.entityMetadatas.flatMap(({ tableName, foreignKeys }) =>
    foreignKeys.map(({ columnNames: [column = ''], referencedEntityMetadata }) => ({
      table: tableName,
      column,
      parent: referencedEntityMetadata.tableName,
    })),
  );
}

const nameOf = (source: DataSource, entity: Entity) => source.getMetadata(entity).tableName;

function wayOf(source: DataSource, metadata: EntityMetadata, by: ClubRows['by']): WayToRows {
  if (typeof by === 'string') return by;
  if ('empty' in by) return { empty: columnIn(metadata, by.empty) };
  return { parent: nameOf(source, by.parent), column: columnIn(metadata, by.column) };
}

function columnIn({ tableName, columns }: EntityMetadata, property: string): string {
  const column = columns.find(({ propertyName }) => propertyName === property);
  if (column === undefined) throw new Error(`The table ${tableName} has no column for ${property}.`);
  return column.databaseName;
}

function tableFrom({ tableName, primaryColumns, columns }: EntityMetadata): ErasedTable {
  return {
    name: tableName,
    keys: primaryColumns.map(({ databaseName, type }) => ({ column: databaseName, type: String(type) })),
    hasClub: columns.some(({ databaseName }) => databaseName === 'club_id'),
  };
}
