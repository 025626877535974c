/**
 * Makes the changes of a file of claims, records, authorization or pricing. It changes the code and also the SQL, which Stryker ignores.
 */
import ts from 'typescript';
import type { Result } from './tally.ts';

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
 * Returns a condition that is always true or never true. Postgres refuses a statement that does not use all its parameters. If the old
 * condition has a numbered parameter, the new condition therefore contains the old condition.
 */
function withConstant(found: string, to: 'TRUE' | 'FALSE'): string {
  const [, word = '', condition = ''] = /^(\w+) +(.*)$/s.exec(found) ?? [];
  const combined = to === 'TRUE' ? `(${condition} OR TRUE)` : `(${condition} AND FALSE)`;
  return `${word} ${/\$\d/.test(condition) ? combined : to}`;
}

/** Each pattern finds a piece of SQL and returns its replacement. A removed condition is always true. */
const changesOfSql: readonly [RegExp, (found: string) => string][] = [
  [
    new RegExp(String.raw`\b(?:AND|WHERE) +(?:[\w.]+ IS (?:NOT )?NULL|[\w.]+ ${comparison} ${value})`, 'g'),
    (found) => withConstant(found, 'TRUE'),
  ],
  [
    new RegExp(String.raw`\bOR +(?:[\w.]+ IS (?:NOT )?NULL|[\w.]+ ${comparison} ${value})`, 'g'),
    (found) => withConstant(found, 'FALSE'),
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

export function changesOf(source: string): Change[] {
  const file = ts.createSourceFile('changed.ts', source, ts.ScriptTarget.Latest, true);
  const changes: Change[] = [];
  const addChange = (node: ts.Node, text: string) =>
    changes.push({ start: node.getStart(file), end: node.getEnd(), text });
  const visit = (node: ts.Node): void => {
    if (ts.isBinaryExpression(node)) {
      const other = operators[node.operatorToken.kind];
      if (other !== undefined) addChange(node.operatorToken, other);
    } else if (ts.isConditionalExpression(node)) {
      addChange(node.condition, 'true');
      addChange(node.condition, 'false');
    } else if (ts.isIfStatement(node)) {
      addChange(node.expression, 'true');
      addChange(node.expression, 'false');
    } else if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
      addChange(node, node.operand.getText(file));
    } else if (ts.isExpressionStatement(node) && isCall(node.expression)) {
      addChange(node, ';');
    } else if (ts.isArrayLiteralExpression(node)) {
      for (const [position, element] of node.elements.entries()) {
        const following = node.elements[position + 1];
        if (ts.isTaggedTemplateExpression(element))
          changes.push({ start: element.getStart(file), end: following?.getStart(file) ?? element.getEnd(), text: '' });
      }
    } else if (
      ts.isTemplateLiteral(node) &&
      /\b(?:SELECT|UPDATE|INSERT|DELETE|CASE|AND|OR)\b| [<>]=? | = |NULL/.test(node.getText(file))
    ) {
      const [from, text] = [node.getStart(file), node.getText(file)];
      for (const [pattern, instead] of changesOfSql)
        for (const match of text.matchAll(pattern))
          changes.push({
            start: from + match.index,
            end: from + match.index + match[0].length,
            text: instead(match[0]),
          });
    }
    if (!ts.isTypeNode(node)) ts.forEachChild(node, visit);
  };
  visit(file);
  return changes.toSorted((one, other) => one.start - other.start || one.end - other.end);
}

const isCall = (node: ts.Expression): boolean =>
  ts.isCallExpression(ts.isAwaitExpression(node) ? node.expression : node);

export interface TriedChange {
  file: string;
  line: number;
  from: string;
  to: string;
  result: Result;
}

export function describeChange(
  text: string,
  { start, end, text: to }: Change,
): Pick<TriedChange, 'line' | 'from' | 'to'> {
  const short = (piece: string) => piece.replace(/\s+/g, ' ').trim().slice(0, 70);
  return { line: text.slice(0, start).split('\n').length, from: short(text.slice(start, end)), to: short(to) };
}

/**
 * Formats a change, such as `platform/engine/lease.ts:67 sql`true` → nothing`. The text also shows whether the change hung or could not be
 * read.
 */
export function lineOfChange({ file, line, from, to, result }: TriedChange): string {
  const outcomes = { survived: '', hung: ' (hung)', invalid: ' (could not be read, and does not count)', killed: '' };
  return `  ${file}:${line} ${from} → ${to === '' ? 'nothing' : to}${outcomes[result]}`;
}
