/** Reads the tables of the service from the catalogue of Postgres, so that a new table needs no change here. */
import type { DataSource } from 'typeorm';

export interface Column {
  name: string;
  /** The name in Postgres, such as `uuid` or `text[]`. */
  type: string;
  /** An insert must give a value. */
  isRequired: boolean;
  isGenerated: boolean;
  /** The first value that a check of the column permits; null if no check lists values. */
  permitted: string | null;
}

export interface CatalogTable {
  name: string;
  columns: readonly Column[];
  /** The columns of the primary key. */
  key: readonly string[];
  /** The columns of each unique index. */
  unique: readonly (readonly string[])[];
  /** The foreign keys of one column. */
  references: readonly { column: string; parent: string }[];
}

/** @returns every table except partitions, sorted by name */
export function readTables(source: DataSource): Promise<CatalogTable[]> {
  return source.query<CatalogTable[]>(`
    SELECT relname AS name,
      (SELECT json_agg(json_build_object('name', attname, 'type', format_type(atttypid, atttypmod),
                'isRequired', attnotnull AND NOT atthasdef AND attidentity = '', 'isGenerated', attgenerated <> '',
                'permitted', (SELECT substring(pg_get_constraintdef(one.oid) FROM attname || ' = ANY \\(\\(?ARRAY\\[''([^'']*)''')
                                FROM pg_constraint one WHERE conrelid = self.oid AND contype = 'c'
                                 AND pg_get_constraintdef(one.oid) ~ ('\\m' || attname || ' = ANY') LIMIT 1)) ORDER BY attnum)
         FROM pg_attribute WHERE attrelid = self.oid AND attnum > 0 AND NOT attisdropped) AS columns,
      coalesce((SELECT json_agg(attname ORDER BY attnum) FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
         WHERE indrelid = self.oid AND indisprimary), '[]') AS key,
      coalesce((SELECT json_agg(names) FROM (
         SELECT json_agg(attname ORDER BY attnum) AS names FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
          WHERE indrelid = self.oid AND indisunique GROUP BY indexrelid) one), '[]') AS unique,
      coalesce((SELECT json_agg(json_build_object('column', attname, 'parent', confrelid::regclass::text))
         FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
         WHERE conrelid = self.oid AND contype = 'f' AND cardinality(conkey) = 1), '[]') AS references
      FROM pg_class self
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'migrations'
     ORDER BY relname`);
}
