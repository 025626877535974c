/** Compares the row that the code declares with the columns that Postgres describes. */
import type { DeclaredKind, DeclaredProperty, DeclaredRow } from './declared.ts';
import type { DescribedColumn, ValueKind } from './described.ts';

/**
 * - Each property that is not optional has a column, and each column has a property.
 * - The declared type accepts the value that the driver returns for the column. A JSON column may have any type that JSON can represent.
 * - A property allows `null` if its column may be null. A property may also allow `null` if its column is never null.
 * @returns a sentence for each difference
 */
export function rowDifferences(
  { properties, others }: Omit<DeclaredRow, 'at'>,
  columns: readonly DescribedColumn[],
): string[] {
  const names = new Set(columns.map(({ name }) => name));
  const absent = properties
    .filter(({ name, optional }) => !optional && !names.has(name))
    .map(({ name, printed }) => `${name} is declared as ${printed}, but the statement selects no such column`);
  const wrong = columns.flatMap((column) => {
    const declared = properties.find(({ name }) => name === column.name) ?? others;
    if (!declared) return [`${column.name} (${column.type}) is selected, but not declared`];
    return differencesOf(column, declared);
  });
  return [...absent, ...wrong];
}

export const mayBeNull = 'the column may be null';

function differencesOf(
  { name, type, value, nullable }: DescribedColumn,
  { kinds, nullable: allowsNull, printed }: Omit<DeclaredProperty, 'name' | 'optional'>,
): string[] {
  const found: string[] = [];
  if (!kinds.some((kind) => accepts(kind, value)) && kinds.length > 0) {
    found.push(`${name} is declared as ${printed}, but ${type} arrives as ${printedKind(value)}`);
  }
  if (nullable && !allowsNull) found.push(`${name} is declared as ${printed}, but ${mayBeNull}`);
  return found;
}

function accepts(declared: DeclaredKind, value: ValueKind): boolean {
  if (declared === 'unknown') return true;
  if (value === 'json') return declared !== 'Date' && declared !== 'Buffer' && declared !== 'bigint';
  if (typeof declared === 'object') {
    if (typeof value !== 'object') return false;
    return declared.arrayOf.length === 0 || declared.arrayOf.some((kind) => accepts(kind, value.arrayOf));
  }
  return declared === value;
}

const printedKind = (value: ValueKind): string =>
  typeof value === 'string' ? value : `${printedKind(value.arrayOf)}[]`;
