/** Finds the series and labels in a PromQL expression, so that a check can compare their names. It does not parse the rest of PromQL. */

export interface Asked {
  /** The metric. */
  readonly name: string;
  /** The labels in the matchers of the series. */
  readonly labels: readonly string[];
  /** The text before this metric, which shows how the metric is aggregated. */
  readonly before: string;
}

const keywords = new Set(['and', 'or', 'unless', 'bool', 'offset', 'inf', 'nan']);
/** These clauses contain labels and not series: `by (a, b)`, `on ()`, `group_left (a)`. */
const labelLists = /\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;

/** @returns the series in the order of the text */
export function seriesIn(expr: string): Asked[] {
  const series: Asked[] = [];
  const plain = expr.replace(labelLists, (list) => ' '.repeat(list.length));
  const texts = /"(?:[^"\\]|\\.)*"/g;
  const outside = plain.replace(texts, (text) => `"${'_'.repeat(text.length - 2)}"`);
  for (const match of outside.matchAll(/(?<![\w."$])([a-z_:][\w:]*)(\{[^}]*\})?(?!\s*\(|\w)/gi)) {
    const [, name = '', matchers = ''] = match;
    if (keywords.has(name.toLowerCase()) || isInBraces(outside, match.index)) continue;
    const labels = [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label);
    series.push({ name, labels, before: expr.slice(0, match.index) });
  }
  return series;
}

/** @returns the labels in clauses such as `by (a, b)` and `on (a)` */
export function groupingLabelsIn(expr: string): string[] {
  return [...expr.matchAll(labelLists)].flatMap(([, , list = '']) => list.match(/\w+/g) ?? []);
}

/** Whether the position in the text is inside matchers, a range such as `[5m]`, or a string. */
function isInBraces(expr: string, at: number): boolean {
  const before = expr.slice(0, at);
  const open = (start: string, end: string) => before.lastIndexOf(start) > before.lastIndexOf(end);
  return open('{', '}') || open('[', ']') || (before.match(/"/g)?.length ?? 0) % 2 === 1;
}
