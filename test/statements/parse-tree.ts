/**
 * Reads the parse tree of a statement as Postgres prints it (`debug_print_parse`). The tree refers to columns by number, and names the
 * outer joins that may make a column null.
 */

export interface TreeNode {
  /** The kind of the node, such as VAR or TARGETENTRY. */
  readonly tag: string;
  readonly fields: Readonly<Record<string, TreeValue>>;
}

/** `undefined` is an absent node. In a list of numbers, such as `(b 3)`, the first item is a letter. */
export type TreeValue = TreeNode | string | readonly TreeValue[] | undefined;

const tokens = /"(?:\\[\s\S]|[^"\\])*"|[{}()[\]]|(?:\\[\s\S]|[^\s{}()[\]"\\])+/g;

/** @throws Error if the text is not exactly one node */
export function parseTree(text: string): TreeNode {
  const found = text.match(tokens) ?? [];
  let at = 0;

  function value(): TreeValue {
    const token = found[at++];
    if (token === undefined) throw new Error('The parse tree ends too early');
    if (token === '{') return node();
    if (token === '(' || token === '[') return items(token === '(' ? ')' : ']');
    if (token === '<>') return undefined;
    return token.startsWith('"')
      ? token.slice(1, -1).replaceAll(/\\([\s\S])/g, '$1')
      : token.replaceAll(/\\([\s\S])/g, '$1');
  }

  function items(end: string): TreeValue[] {
    const list: TreeValue[] = [];
    while (found[at] !== end) list.push(value());
    at++;
    return list;
  }

  function node(): TreeNode {
    const tag = found[at++] ?? '';
    const fields: Record<string, TreeValue> = {};
    while (found[at] !== '}') {
      const name = found[at++] ?? '';
      if (!name.startsWith(':')) throw new Error(`The parse tree has ${name} where ${tag} names a field`);
      const values: TreeValue[] = [];
      while (found[at] !== '}' && !found[at]?.startsWith(':')) values.push(value());
      fields[name.slice(1)] = values.length > 1 ? values : values[0];
    }
    at++;
    return { tag, fields };
  }

  const root = value();
  if (!isNode(root) || at !== found.length) throw new Error('The text is not one parse tree');
  return root;
}

export function isNode(value: TreeValue): value is TreeNode {
  return typeof value === 'object' && !Array.isArray(value);
}

/** @returns the node in a field; undefined if the field contains no node */
export function nodeIn(node: TreeNode, field: string): TreeNode | undefined {
  const value = node.fields[field];
  return isNode(value) ? value : undefined;
}

/** @returns the values of the list in a field; empty without a list */
export function listIn(node: TreeNode, field: string): readonly TreeValue[] {
  const value = node.fields[field];
  return Array.isArray(value) ? value : [];
}

/** @returns the nodes of the list in a field; empty without a list */
export function nodesIn(node: TreeNode, field: string): TreeNode[] {
  return listIn(node, field).filter(isNode);
}

/** @returns the number in a field; 0 if the field is absent */
export function numberIn(node: TreeNode, field: string): number {
  return Number(node.fields[field] ?? 0);
}
