/** Composes SQL with parameters. Pieces can contain pieces; the parameters are numbered together. */
import { getMetadataArgsStorage } from 'typeorm';

/** Each gap is a parameter or another piece of SQL. */
export class Sql {
  readonly #strings: readonly string[];
  readonly #parts: readonly unknown[];

  constructor(strings: readonly string[], parts: readonly unknown[]) {
    this.#strings = strings;
    this.#parts = parts;
  }

  /** @param values receives the parameters @returns the text with `$1`, `$2` … as parameters */
  render(values: unknown[]): string {
    return this.#strings.reduce((text, string, index) => {
      const part = this.#parts[index - 1];
      return text + (part instanceof Sql ? part.render(values) : `$${values.push(part)}`) + string;
    });
  }
}

/** A value in `${…}` becomes a parameter. A piece of SQL in `${…}` is inserted as SQL. */
export const sql = (strings: TemplateStringsArray, ...parts: unknown[]): Sql => new Sql(strings, parts);

/** Inserts a text unchanged: only names from our own code, never text from outside. */
export const raw = (text: string): Sql => new Sql([text], []);

/** Leaves out `undefined` conditions. At least one must remain. */
export function all(conditions: readonly (Sql | undefined)[]): Sql {
  return conditions.filter((one) => one !== undefined).reduce((left, right) => sql`${left} AND ${right}`);
}

/** At least one piece. */
export const list = (parts: readonly Sql[]): Sql => parts.reduce((left, right) => sql`${left}, ${right}`);

/** At least one query. */
export const union = (queries: readonly Sql[]): Sql => queries.reduce((left, right) => sql`${left} UNION ALL ${right}`);

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export type Entity<E = object> = new () => E;
export type Column<E> = Extract<keyof E, string>;

export const columnOf = (property: string): Sql => raw(snakeCase(property));

export function tableOf(entity: Entity): string {
  const table = getMetadataArgsStorage().tables.find(({ target }) => target === entity);
  if (typeof table?.name !== 'string') throw new Error(`${entity.name} is not an entity`);
  return table.name;
}

/** Columns such as `error_code AS "errorCode"`, with the type of the selected rows. */
export class Columns<Row> extends Sql {
  declare readonly row: Row;

  and<More>(others: Columns<More>): Columns<Row & More>;
  /** Adds computed columns, such as `` sql`body IS NULL AS purged` ``. */
  and<More>(computed: Sql): Columns<Row & More>;
  and<More>(more: Sql): Columns<Row & More> {
    return new Columns<Row & More>(['', ', ', ''], [this, more]);
  }
}

/** Selects what belongs to no entity, such as the `*` of a subselect. */
export function selection<Row>(selected: Sql): Columns<Row> {
  return new Columns<Row>(['', ''], [selected]);
}

export type RowOf<C extends Columns<unknown>> = C['row'];

/** The properties, or a map from names in the row to properties: `{ clubSlug: 'slug' }`. */
type Named<E> = Readonly<Record<string, Column<E>>>;

/** The columns are named after the properties, or as the caller chooses. */
export function columns<E extends object, K extends Column<E>>(
  entity: Entity<E>,
  properties: readonly K[],
  alias?: string,
): Columns<Pick<E, K>>;
export function columns<E extends object, const N extends Named<E>>(
  entity: Entity<E>,
  named: N,
  alias?: string,
): Columns<{ -readonly [Name in keyof N]: E[N[Name]] }>;
export function columns<E extends object>(
  _entity: Entity<E>,
  properties: readonly Column<E>[] | Named<E>,
  alias = '',
): Columns<unknown> {
  const table = alias === '' ? '' : `${alias}.`;
  const named = Array.isArray(properties)
    ? (properties as Column<E>[]).map((property) => [property, property] as const)
    : Object.entries(properties);
  const selected = named.map(([name, property]) => {
    const column = snakeCase(property);
    return column === name ? `${table}${column}` : `${table}${column} AS "${name}"`;
  });
  return new Columns([selected.join(', ')], []);
}

/**
 * Returns the values that are not undefined, for a change.
 * @param values such as `{ title: input.title, updatedAt: now }`
 */
export function given<V extends object>(values: V): { [Name in keyof V]?: Exclude<V[Name], undefined> } {
  const set = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as { [Name in keyof V]?: Exclude<V[Name], undefined> };
}
