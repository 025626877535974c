/** One change at a time in a file of claims, records, authorization or pricing: of its code, and of its SQL, which Stryker leaves alone. */
import ts from 'typescript';
import type { Result } from './tally.ts';

/** @property start where the text that is replaced begins in the file @property end where it ends */
export interface Change {
  start: number;
  end: number;
  text: string;
}

const operators: Readonly<Partial<Record<ts.SyntaxKind, string>>> = {
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: '!==',
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: '===',
  [ts.SyntaxKind.LessThanToken]: '<=',
  [ts.SyntaxKind.LessThanEqualsToken]: '<',
  [ts.SyntaxKind.GreaterThanToken]: '>=',
  [ts.SyntaxKind.GreaterThanEqualsToken]: '>',
  [ts.SyntaxKind.AmpersandAmpersandToken]: '||',
  [ts.SyntaxKind.BarBarToken]: '&&',
  [ts.SyntaxKind.PlusToken]: '-',
  [ts.SyntaxKind.MinusToken]: '+',
  [ts.SyntaxKind.AsteriskToken]: '/',
  [ts.SyntaxKind.SlashToken]: '*',
};

const value = String.raw`(?:\$\{[^{}]*\}(?:::\w+)?|\$\d+|'[^']*'|[\w.]+(?:\(\))?)`;
const comparison = String.raw`(?:IS (?:NOT )?DISTINCT FROM|=|<>|<=|>=|<|>)`;

/**
 * A condition that is always met, or never. One with a numbered parameter stays in the text: Postgres refuses a statement that
 * leaves a parameter out, whatever it does.
 */
function decided(found: string, to: 'TRUE' | 'FALSE'): string {
  const [, word = '', condition = ''] = /^(\w+) +(.*)$/s.exec(found) ?? [];
  const kept = to === 'TRUE' ? `(${condition} OR TRUE)` : `(${condition} AND FALSE)`;
  return `${word} ${/\$\d/.test(condition) ? kept : to}`;
}

/** Each finds a piece of SQL, and says what stands there instead. A condition that is left out is always met. */
const changesOfSql: readonly [RegExp, (found: string) => string][] = [
  [
    new RegExp(String.raw`\b(?:AND|WHERE) +(?:[\w.]+ IS (?:NOT )?NULL|[\w.]+ ${comparison} ${value})`, 'g'),
    (found) => decided(found, 'TRUE'),
  ],
  [
    new RegExp(String.raw`\bOR +(?:[\w.]+ IS (?:NOT )?NULL|[\w.]+ ${comparison} ${value})`, 'g'),
    (found) => decided(found, 'FALSE'),
  ],
  [/\b(?:AND|WHERE) +EXISTS \(/g, (found) => found.replace('EXISTS', 'NOT EXISTS')],
  [/ <= /g, () => ' < '],
  [/ < /g, () => ' <= '],
  [/ >= /g, () => ' > '],
  [/ > /g, () => ' >= '],
  [/ [+-] 1\b/g, () => ''],
  [/ \+ (?=\$\{|\w+\.)/g, () => ' - '],
  [/ - (?=\$\{|\w+\.)/g, () => ' + '],
  [/ FOR (?:NO KEY )?UPDATE/g, () => ''],
  [/ SKIP LOCKED/g, () => ''],
  [/CASE WHEN /g, () => 'CASE WHEN TRUE OR '],
  [/CASE WHEN /g, () => 'CASE WHEN FALSE AND '],
  [/\b[a-z_]+ = NULL, /g, () => ''],
];

/** @returns the changes of a TypeScript file that this runner makes, in their order */
export function changesOf(source: string): Change[] {
  const file = ts.createSourceFile('changed.ts', source, ts.ScriptTarget.Latest, true);
  const found: Change[] = [];
  const put = (node: ts.Node, text: string) => found.push({ start: node.getStart(file), end: node.getEnd(), text });
  const visit = (node: ts.Node): void => {
    if (ts.isBinaryExpression(node)) {
      const other = operators[node.operatorToken.kind];
      if (other !== undefined) put(node.operatorToken, other);
    } else if (ts.isConditionalExpression(node)) {
      put(node.condition, 'true');
      put(node.condition, 'false');
    } else if (ts.isIfStatement(node)) {
      put(node.expression, 'true');
      put(node.expression, 'false');
    } else if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
      put(node, node.operand.getText(file));
    } else if (ts.isExpressionStatement(node) && isCall(node.expression)) {
      put(node, ';');
    } else if (ts.isArrayLiteralExpression(node)) {
      for (const [place, element] of node.elements.entries()) {
        const following = node.elements[place + 1];
        if (ts.isTaggedTemplateExpression(element))
          found.push({ start: element.getStart(file), end: following?.getStart(file) ?? element.getEnd(), text: '' });
      }
    } else if (
      ts.isTemplateLiteral(node) &&
      /\b(?:SELECT|UPDATE|INSERT|DELETE|CASE|AND|OR)\b| [<>]=? | = |NULL/.test(node.getText(file))
    ) {
      const [from, text] = [node.getStart(file), node.getText(file)];
      for (const [pattern, instead] of changesOfSql)
        for (const match of text.matchAll(pattern))
          found.push({ start: from + match.index, end: from + match.index + match[0].length, text: instead(match[0]) });
    }
    if (!ts.isTypeNode(node)) ts.forEachChild(node, visit);
  };
  visit(file);
  return found.toSorted((one, other) => one.start - other.start || one.end - other.end);
}

const isCall = (node: ts.Expression): boolean =>
  ts.isCallExpression(ts.isAwaitExpression(node) ? node.expression : node);

/** A change of a file that was tried. */
export interface TriedChange {
  file: string;
  line: number;
  from: string;
  to: string;
  result: Result;
}

/** @returns where a change is, and what it makes of what, short enough for a line */
export function describeChange(
  text: string,
  { start, end, text: to }: Change,
): Pick<TriedChange, 'line' | 'from' | 'to'> {
  const short = (piece: string) => piece.replace(/\s+/g, ' ').trim().slice(0, 70);
  return { line: text.slice(0, start).split('\n').length, from: short(text.slice(start, end)), to: short(to) };
}

/** `platform/engine/lease.ts:67 sql`true` → nothing`, and what became of it, unless a test noticed. */
export function lineOfChange({ file, line, from, to, result }: TriedChange): string {
  const outcomes = { survived: '', hung: ' (hung)', untold: ' (could not be read, and does not count)', killed: '' };
  return `  ${file}:${line} ${from} → ${to === '' ? 'nothing' : to}${outcomes[result]}`;
}
