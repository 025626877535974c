/** The order in which a transaction locks rows, read from its statements (ENG-6, docs/explanation/architecture.md). */

/** Tables in their order. Rows of tables that are not named here may be locked at any place. */
const documentedOrder: readonly (readonly string[])[] = [
  ['student_imports'],
  ['club_student_counts'],
  ['students'],
  ['enrollments', 'purchases', 'registration_links', 'access_deliveries'],
  ['media'],
  ['club_storage'],
  ['club_feature_changes'],
  ['webhook_endpoints'],
  ['webhook_deliveries', 'sales_notices'],
];
const places = new Map(documentedOrder.flatMap((tables, place) => tables.map((table) => [table, place] as const)));

const tables = /\b(?:FROM|JOIN)\s+"?(\w+)"?(?:\s+(?:AS\s+)?"?(\w+)"?)?/gi;
const rowLocks = /\bFOR\s+(?:NO KEY\s+)?(?:UPDATE|SHARE)\b(?:\s+OF\s+"?(\w+)"?)?/gi;
const changes = /\b(?:UPDATE|DELETE FROM)\s+"?(\w+)"?/gi;

/** Imports that have ended: the order speaks of those in progress. */
const ended = /completed_at IS NOT NULL/;

/** @returns the tables of the documented order of which the statement locks rows */
function lockedTables(statement: string): string[] {
  const named = [...statement.matchAll(tables)];
  const locked = [...statement.matchAll(changes)].map(([, table = '']) => table);
  for (const { index, 1: alias } of statement.matchAll(rowLocks)) {
    const before = named.filter((one) => one.index < index);
    const found = alias ? before.findLast((one) => one[2] === alias || one[1] === alias) : before.at(-1);
    if (found?.[1] !== undefined) locked.push(found[1]);
  }
  return [...new Set(locked)].filter(
    (table) => places.has(table) && !(table === 'student_imports' && ended.test(statement)),
  );
}

/** What one transaction has locked so far. */
export class LocksOfTransaction {
  readonly #held = new Set<string>();

  /** Notes the locks of the next statement. @returns what is wrong with their order; undefined where it is kept */
  next(statement: string): string | undefined {
    const fresh = lockedTables(statement).filter((table) => !this.#held.has(table));
    const wrong = fresh
      .flatMap((table) => [...this.#held].map((held) => [table, held] as const))
      .find(([table, held]) => (places.get(table) ?? 0) < (places.get(held) ?? 0));
    for (const table of fresh) this.#held.add(table);
    return wrong && `${wrong[0]} after ${wrong[1]}`;
  }
}
