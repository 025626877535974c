/**
 * Computes the order in which the tables of a club are emptied, from their foreign keys: children before parents (ADR 88). A set-null key
 * counts too, because it would change each row of the child.
 */

/** How the rows of a table are found. `column` and `empty` are names of columns in Postgres. */
export type WayToRows = 'club' | 'scan' | { parent: string; column: string } | { empty: string };

export interface TableRows {
  table: string;
  by: WayToRows;
  /** Tables that the rows refer to without a foreign key. */
  refersTo?: readonly string[];
  /** Rows may arrive until their parents are locked, and no foreign key protects them. */
  mayArrive?: true;
}

export interface TableReference {
  table: string;
  column: string;
  /** The table to which the column refers. */
  parent: string;
}

/** A table, and the tables whose rows are found by a page of its rows. Those are emptied first, in this order. */
export interface ErasureNode {
  table: string;
  by: WayToRows;
  /** Columns by which rows of this table refer to rows of the same table. A row is erased only when no row refers to it. */
  ownReferences: readonly string[];
  children: readonly ErasureNode[];
  /** Rows may arrive until their parents are locked, and no foreign key protects them. */
  mayArrive?: true;
}

/**
 * @param rows the ways to the rows of each table
 * @param references all foreign keys of the database
 * @returns the tables that are found by the club, in the order of their erasure, with the tables below them
 * @throws Error if a parent has no way of its own, or if tables refer to each other in a circle
 */
export function erasureOrder(
  rows: readonly TableRows[],
  references: readonly TableReference[],
): readonly ErasureNode[] {
  const known = new Set(rows.map(({ table }) => table));
  for (const { table, by } of rows)
    if (isBelow(by) && !known.has(by.parent))
      throw new Error(`${table} is found by ${by.parent}, which has no answer.`);
  // The rows below a page of a parent are erased before the page, so this foreign key sets no further condition.
  const isCovered = ({ table, column, parent }: TableReference) =>
    rows.some(({ table: one, by }) => one === table && isBelow(by) && by.parent === parent && by.column === column);
  const conditions = [
    ...references.filter((one) => one.table !== one.parent && !isCovered(one)),
    ...rows.flatMap(({ table, refersTo = [] }) => refersTo.map((parent) => ({ table, parent }))),
  ];
  const nodeOf = ({ table, by, mayArrive }: TableRows): ErasureNode => ({
    table,
    by,
    ...(mayArrive && { mayArrive }),
    ownReferences: references.filter((one) => one.table === table && one.parent === table).map(({ column }) => column),
    children: sorted(rows.filter((one) => isBelow(one.by) && one.by.parent === table).map(nodeOf), conditions),
  });
  return sorted(rows.filter(({ by }) => !isBelow(by)).map(nodeOf), conditions);
}

/** @returns every table of the node, its own first */
export function tablesOf({ table, children }: ErasureNode): readonly string[] {
  return [table, ...children.flatMap(tablesOf)];
}

const isBelow = (by: WayToRows): by is { parent: string; column: string } => typeof by === 'object' && 'parent' in by;

/** Sorts siblings. Without a condition, they keep their order. */
function sorted(
  nodes: readonly ErasureNode[],
  conditions: readonly { table: string; parent: string }[],
): readonly ErasureNode[] {
  const groups = nodes.map((node) => ({ node, tables: new Set(tablesOf(node)) }));
  const isBefore = (one: (typeof groups)[number], other: (typeof groups)[number]) =>
    conditions.some(({ table, parent }) => one.tables.has(table) && other.tables.has(parent));
  const order: ErasureNode[] = [];
  let waiting = groups;
  while (waiting.length > 0) {
    const next = waiting.find((one) => !waiting.some((other) => other !== one && isBefore(other, one)));
    if (next === undefined)
      throw new Error(
        `These tables refer to each other in a circle: ${waiting.map(({ node }) => node.table).join(', ')}.`,
      );
    order.push(next.node);
    waiting = waiting.filter((one) => one !== next);
  }
  return order;
}
