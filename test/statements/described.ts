/** Asks Postgres for the columns of statements by the messages Parse and Describe, which do not run the statements. */
import pg from 'pg';
import { neverNull, unstated } from './accepted.ts';
import { constraintsIn } from './constraints.ts';
import { nullableColumns, type Catalog, type TableRules } from './nullable.ts';
import { parseTree, type TreeNode } from './parse-tree.ts';

export interface DescribedColumn {
  readonly name: string;
  /** The name of the column's type in Postgres. Names of array types begin with `_`. */
  readonly type: string;
  /** The kind of value that the driver returns for the column. */
  readonly value: ValueKind;
  readonly nullable: boolean;
}

/** The kind of value that the driver returns for a type. `json` is any value that JSON can represent. */
export type ValueKind =
  | 'string'
  | 'number'
  | 'boolean'
  | 'bigint'
  | 'Date'
  | 'Buffer'
  | 'json'
  | 'object'
  | { readonly arrayOf: ValueKind };

type Description = { readonly columns: readonly DescribedColumn[] } | { readonly error: string };

/** A sample text of each type, which the driver's parser turns into a value. */
const samples: Readonly<Record<string, string>> = {
  bool: 't',
  bytea: '\\x00',
  char: 'a',
  int2: '1',
  int4: '1',
  int8: '1',
  float4: '1',
  float8: '1',
  numeric: '1',
  oid: '1',
  name: 'a',
  text: 'a',
  bpchar: 'a',
  varchar: 'a',
  uuid: '01980000-0000-7000-8000-000000000000',
  date: '2026-01-02',
  time: '10:00:00',
  timestamp: '2026-01-02 10:00:00',
  timestamptz: '2026-01-02 10:00:00+00',
  interval: '1 day',
  inet: '::1',
  cidr: '::/0',
  json: '{}',
  jsonb: '{}',
  regclass: 'pg_class',
  record: '(1)',
  xid: '1',
  xid8: '1',
  pg_lsn: '0/0',
  tstzrange: 'empty',
  void: '',
};

export interface Describer {
  /** @param nulls the numbers of parameters that were null in a run */
  describe(text: string, nulls: ReadonlySet<number>): Promise<Description>;
  end(): Promise<void>;
}

export async function createDescriber(url: string): Promise<Describer> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { catalog, types } = await readCatalog(client);
  // Postgres sends the parse tree as a log message to the client. The settings apply to this session only.
  await client.query('SET client_min_messages = log');
  await client.query('SET debug_pretty_print = off');
  await client.query('SET debug_print_parse = on');
  return {
    async describe(text, nulls) {
      const described = await parseAndDescribe(client, text);
      if ('error' in described) return described;
      const { fields, tree } = described;
      if (fields.length === 0) return { columns: [] };
      if (!tree) throw new Error(`Postgres has logged no parse tree of: ${text}`);
      const nullable = nullableColumns(tree, catalog, nulls);
      return {
        columns: fields.map(({ name, dataTypeID }, index) => {
          const type = types.get(dataTypeID) ?? String(dataTypeID);
          return { name, type, value: valueKindOf(type, dataTypeID), nullable: nullable[index] ?? true };
        }),
      };
    },
    end: () => client.end(),
  };
}

async function readCatalog(client: pg.Client): Promise<{ catalog: Catalog; types: ReadonlyMap<number, string> }> {
  const columns = await client.query<{ key: string }>(
    `SELECT attrelid || '.' || attnum AS key FROM pg_attribute
      WHERE NOT attisdropped AND (attnotnull OR attrelid::regclass || '.' || attname = ANY ($1::text[]))`,
    [neverNull.map(({ column }) => column)],
  );
  const functions = await client.query<{ oid: number; name: string; strict: boolean }>(
    'SELECT oid, proname AS name, proisstrict AS strict FROM pg_proc',
  );
  const rules = await client.query<{
    table: number;
    relation: string;
    names: string[];
    numbers: number[];
    checks: string[];
  }>(
    `SELECT relation.oid AS table, relname AS relation, array_agg(attname::text ORDER BY attnum) AS names, array_agg(attnum ORDER BY attnum) AS numbers,
            ARRAY (SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = relation.oid AND contype = 'c') AS checks
       FROM pg_class relation JOIN pg_attribute ON attrelid = relation.oid AND attnum > 0 AND NOT attisdropped
      WHERE relnamespace = 'public'::regnamespace GROUP BY relation.oid`,
  );
  const rulesOf = new Map(
    rules.rows.map(({ table, relation, names, numbers, checks }): [number, TableRules] => [
      table,
      {
        columns: new Map(names.map((name, index) => [name, numbers[index] ?? 0])),
        constraints: [
          ...checks,
          ...unstated.filter((one) => one.table === relation).map(({ rule }) => `CHECK ((${rule}))`),
        ].flatMap(constraintsIn),
      },
    ]),
  );
  const types = await client.query<{ oid: number; name: string }>('SELECT oid, typname AS name FROM pg_type');
  const notNull = new Set(columns.rows.map(({ key }) => key));
  const byOid = new Map(functions.rows.map((one) => [one.oid, one]));
  return {
    catalog: {
      isNotNull: (table, column) => notNull.has(`${table}.${column}`),
      rulesOf: (table) => rulesOf.get(table) ?? noRules,
      functionOf: (oid) => byOid.get(oid),
    },
    types: new Map(types.rows.map(({ oid, name }) => [oid, name])),
  };
}

const noRules: TableRules = { columns: new Map(), constraints: [] };

/** Returns the driver's parser of a type. The driver's own type list does not contain all types. */
const parserOf = pg.types.getTypeParser as (oid: number, format: 'text') => (text: string) => unknown;

function valueKindOf(type: string, oid: number): ValueKind {
  if (type.startsWith('_')) {
    const parsed = parserOf(oid, 'text')(`{"${samples[type.slice(1)]?.replaceAll('\\', '\\\\') ?? ''}"}`);
    if (!Array.isArray(parsed)) return kindOfValue(parsed);
    return { arrayOf: type === '_jsonb' || type === '_json' ? 'json' : kindOfValue(parsed[0]) };
  }
  if (type === 'json' || type === 'jsonb') return 'json';
  const sample = samples[type];
  if (sample === undefined) throw new Error(`Add a sample of the type ${type} to test/statements/described.ts`);
  return kindOfValue(parserOf(oid, 'text')(sample));
}

function kindOfValue(value: unknown): ValueKind {
  if (value instanceof Date) return 'Date';
  if (Buffer.isBuffer(value)) return 'Buffer';
  const kind = typeof value;
  return kind === 'string' || kind === 'number' || kind === 'boolean' || kind === 'bigint' ? kind : 'object';
}

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

/** Sends single messages of Postgres' protocol, because a query of `pg` would also run the statement. */
interface Wire {
  parse(message: { name: string; text: string; types: number[] }): void;
  describe(message: { type: 'S'; name: string }): void;
  sync(): void;
}

function parseAndDescribe(
  client: pg.Client,
  text: string,
): Promise<{ fields: readonly Field[]; tree: TreeNode | undefined } | { error: string }> {
  return new Promise((resolve) => {
    let fields: readonly Field[] = [];
    let tree: TreeNode | undefined;
    const onNotice = ({ message, detail }: { message?: string; detail?: string }) => {
      if (message === 'parse tree:' && detail !== undefined) tree = parseTree(detail);
    };
    client.on('notice', onNotice as never);
    const query = {
      submit(wire: Wire) {
        wire.parse({ name: '', text, types: [] });
        wire.describe({ type: 'S', name: '' });
        wire.sync();
      },
      handleRowDescription(message: { fields: readonly Field[] }) {
        fields = message.fields;
      },
      handleError(failure: Error) {
        client.off('notice', onNotice as never);
        resolve({ error: failure.message });
      },
      handleReadyForQuery() {
        client.off('notice', onNotice as never);
        resolve({ fields, tree });
      },
    };
    client.query(query as never);
  });
}
