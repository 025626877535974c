/** Finds the tables that each context reads and writes. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../../dev/project.ts';

export interface TableUse {
  context: string;
  table: string;
  access: 'reads' | 'writes';
}

export interface Table {
  owner: string;
  entity: string;
}

/** The engine and the infrastructure, which belong to no context. */
export const platformFolders: readonly string[] = ['facts', 'keys', 'limits'];

/** The tables that the entities declare, by name. */
export function declaredTables(): ReadonlyMap<string, Table> {
  const tables = globSync('entities/*/*.ts', { cwd: projectDirectory }).flatMap((file) => {
    const owner = file.split('/')[1] ?? '';
    const found = read(file).matchAll(/@Entity\('(\w+)'[^]*?export class (\w+)/g);
    return [...found].map(([, table = '', entity = '']) => [table, { owner, entity }] as const);
  });
  return new Map(tables);
}

/** @returns each use by a context, once, in the order of contexts and tables */
export function usesInDomain(tables: ReadonlyMap<string, Table>): TableUse[] {
  const uses = globSync('domain/*/**/*.ts', { cwd: projectDirectory }).flatMap((file) =>
    usesIn(read(file), tables).map((use) => ({ context: file.split('/')[1] ?? '', ...use })),
  );
  const distinct = new Map(uses.map((use) => [`${use.context} ${use.table} ${use.access}`, use]));
  return [...distinct].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, use]) => use);
}

const read = (file: string) => readFileSync(path.join(projectDirectory, file), 'utf8');

/** A table may occur more than once. */
export function usesIn(source: string, tables: ReadonlyMap<string, Table>): Omit<TableUse, 'context'>[] {
  const text = source.replaceAll(/\/\*[^]*?\*\/|(?<=^|\s)\/\/.*/g, '');
  return [...inStatements(text), ...byEntities(text, tables)].filter(({ table }) => tables.has(table));
}

/** `from: '…'` names the table that a search reads. */
const named =
  /\b(INSERT INTO|(?<!FOR |KEY )UPDATE|DELETE FROM|FROM|JOIN|USING|from: ')\s*(?:ONLY\s+)?([a-z_]+)((?:\s+(?:AS\s+)?[a-z_]+)?(?:\s*,\s*[a-z_]+(?:\s+(?:AS\s+)?[a-z_]+)?)*)/g;

const writing = new Set(['INSERT INTO', 'UPDATE', 'DELETE FROM']);

function inStatements(text: string): Omit<TableUse, 'context'>[] {
  return [...text.matchAll(named)].flatMap(([, keyword = '', table = '', more = '']) => {
    const others = [...more.matchAll(/,\s*([a-z_]+)/g)].map(([, other = '']) => other);
    const access = writing.has(keyword) ? 'writes' : 'reads';
    return [{ table, access } as const, ...others.map((other) => ({ table: other, access: 'reads' }) as const)];
  });
}

/** Calls that change rows. The entity's name follows. */
const changing = /\b(?:insert|update|upsert|save|delete|remove|increment|decrement|defineLease|holdLease)\((?:\w+, )?$/;

function byEntities(text: string, tables: ReadonlyMap<string, Table>): Omit<TableUse, 'context'>[] {
  const imports = [...text.matchAll(/^import \{([^}]*)\} from '(?:\.\.\/)+entities\//gm)];
  const classes = new Set(imports.flatMap(([, names = '']) => names.split(',').map((name) => name.trim())));
  const code = text.replaceAll(/^import [^;]*;/gm, '');
  return [...tables].flatMap(([table, { entity }]) => {
    if (!classes.has(entity)) return [];
    const values = [...code.matchAll(new RegExp(`(?<![<\\w.])${entity}\\b(?![['])`, 'g'))];
    return values.map(({ index }) => ({
      table,
      access: changing.test(code.slice(Math.max(0, index - 60), index)) ? ('writes' as const) : ('reads' as const),
    }));
  });
}
