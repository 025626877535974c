/** Reads PromQL as far as a check of names needs: which series an expression asks for, by which labels. */

export interface Asked {
  /** The metric. */
  readonly name: string;
  /** Labels of its matchers. */
  readonly labels: readonly string[];
  /** What stands before it, to judge how it is aggregated. */
  readonly before: string;
}

const keywords = new Set(['and', 'or', 'unless', 'bool', 'offset', 'inf', 'nan']);
/** `by (a, b)`, `on ()`, `group_left (a)`: labels, no series. */
const labelLists = /\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;

/** @returns each use of a series, in the order of the text */
export function seriesIn(expr: string): Asked[] {
  const asked: Asked[] = [];
  const plain = expr.replace(labelLists, (list) => ' '.repeat(list.length));
  const texts = /"(?:[^"\\]|\\.)*"/g;
  const outside = plain.replace(texts, (text) => `"${'_'.repeat(text.length - 2)}"`);
  for (const match of outside.matchAll(/(?<![\w."$])([a-z_:][\w:]*)(\{[^}]*\})?(?!\s*\(|\w)/gi)) {
    const [, name = '', matchers = ''] = match;
    if (keywords.has(name.toLowerCase()) || isInBraces(outside, match.index)) continue;
    const labels = [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label);
    asked.push({ name, labels, before: expr.slice(0, match.index) });
  }
  return asked;
}

/** @returns the labels that the expression groups or matches by */
export function groupingLabelsIn(expr: string): string[] {
  return [...expr.matchAll(labelLists)].flatMap(([, , list = '']) => list.match(/\w+/g) ?? []);
}

/** Matchers, ranges such as `[5m]`, and texts. */
function isInBraces(expr: string, at: number): boolean {
  const before = expr.slice(0, at);
  const open = (start: string, end: string) => before.lastIndexOf(start) > before.lastIndexOf(end);
  return open('{', '}') || open('[', ']') || (before.match(/"/g)?.length ?? 0) % 2 === 1;
}
