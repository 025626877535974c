/** Reads the statements of a transaction, and checks the order in which they lock rows (ENG-6, docs/explanation/architecture.md). */

/** The tables in the order in which a transaction must lock their rows. It may lock rows of other tables at any time. */
const documentedOrder: readonly (readonly string[])[] = [
  ['student_imports', 'bulk_jobs'],
  ['club_student_counts'],
  ['students'],
  ['enrollments', 'purchases', 'registration_links', 'access_deliveries'],
  ['media'],
  ['club_storage'],
  ['club_feature_changes'],
  ['webhook_endpoints'],
  ['webhook_deliveries', 'sales_notices'],
];
const positions = new Map(
  documentedOrder.flatMap((tables, position) => tables.map((table) => [table, position] as const)),
);

const tables = /\b(?:FROM|JOIN)\s+"?(\w+)"?(?:\s+(?:AS\s+)?"?(\w+)"?)?/gi;
const rowLocks = /\bFOR\s+(?:NO KEY\s+)?(?:UPDATE|SHARE)\b(?:\s+OF\s+"?(\w+)"?)?/gi;
const changes = /\b(?:UPDATE|DELETE FROM)\s+"?(\w+)"?/gi;

/** The order does not apply to imports that have ended. */
const ended = /completed_at IS NOT NULL/;

function lockedTables(statement: string): string[] {
  const named = [...statement.matchAll(tables)];
  const locked = [...statement.matchAll(changes)].map(([, table = '']) => table);
  for (const { index, 1: alias } of statement.matchAll(rowLocks)) {
    const before = named.filter((one) => one.index < index);
    const table = alias ? before.findLast((one) => one[2] === alias || one[1] === alias) : before.at(-1);
    if (table?.[1] !== undefined) locked.push(table[1]);
  }
  return [...new Set(locked)].filter(
    (table) => positions.has(table) && !(table === 'student_imports' && ended.test(statement)),
  );
}

export class LocksOfTransaction {
  readonly #locked = new Set<string>();

  /** @returns the violation of the order; undefined without a violation */
  next(statement: string): string | undefined {
    const fresh = lockedTables(statement).filter((table) => !this.#locked.has(table));
    const wrong = fresh
      .flatMap((table) => [...this.#locked].map((lockedTable) => [table, lockedTable] as const))
      .find(([table, lockedTable]) => (positions.get(table) ?? 0) < (positions.get(lockedTable) ?? 0));
    for (const table of fresh) this.#locked.add(table);
    return wrong && `${wrong[0]} after ${wrong[1]}`;
  }
}
