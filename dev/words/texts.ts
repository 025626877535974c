/**
 * Extracts the sentences of a file that people read: comments, test titles, error messages and other text in code, and paragraphs of
 * pages.
 */
import ts from 'typescript';

export interface Text {
  /** The number of its first line, from 1. */
  line: number;
  /** One paragraph, on one line. */
  text: string;
  /** Whether it is the message of an error in code. */
  isError?: boolean;
}

/** @param file its path from the project's directory @returns its prose; an empty list for other kinds of files */
export function proseOf(file: string, source: string): Text[] {
  if (/\.(?:ts|mjs|js)$/.test(file)) return proseOfCode(source);
  if (file.endsWith('.md')) return proseOfPage(source);
  if (/\.(?:ya?ml|sh|toml)$|Dockerfile$/.test(file)) return proseOfSettings(source);
  return [];
}

/** @returns the lines of code without comments and strings */
export function codeOf(source: string): Text[] {
  const blank = Array.from({ length: source.length }, (_, index) => source.charAt(index)); // by UTF-16 code units, like the ranges
  for (const { from, to } of [...commentsOf(source), ...stringsOf(source)])
    for (let index = from; index < to; index++) if (blank[index] !== '\n') blank[index] = ' ';
  return blank
    .join('')
    .split('\n')
    .map((text, index) => ({ line: index + 1, text }));
}

interface Range {
  from: number;
  to: number;
}

function proseOfCode(source: string): Text[] {
  const starts = lineStarts(source);
  const comments = commentsOf(source).flatMap(({ from, to }) =>
    paragraphs(
      source
        .slice(from, to)
        .split('\n')
        .map((line) => line.replace(/^\s*(?:\/\*\*?|\*\/|\*|\/\/)\s?/, '').replace(/\s*\*\/\s*$/, '')),
      lineOf(starts, from),
    ),
  );
  const strings = stringsOf(source).flatMap(({ from, to }) => {
    const text = source.slice(from, to);
    if (isStatement(text)) return commentsOfStatement(text, lineOf(starts, from));
    const isError = /Error\(\s*$/.test(source.slice(Math.max(0, from - 40), from - 1));
    return isSentence(text) ? [{ line: lineOf(starts, from), text: text.replaceAll(/\s+/g, ' ').trim(), isError }] : [];
  });
  return [...comments, ...strings].toSorted((a, b) => a.line - b.line);
}

const isSentence = (text: string): boolean => /[A-Za-z]+ [a-z]+ [a-z]+/.test(text) && !text.includes('[--'); // a usage line is not a sentence
const isStatement = (text: string): boolean =>
  /\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|CREATE|ALTER|WHERE|JOIN)\b/.test(text);

const commentsOfStatement = (text: string, line: number): Text[] =>
  text.split('\n').flatMap((one, index) => {
    const comment = /--\s+(.*)$/.exec(one)?.[1];
    return comment === undefined ? [] : [{ line: line + index, text: comment }];
  });

/** Consecutive lines form one text; an empty line or a tag begins another. */
function paragraphs(lines: readonly string[], firstLine: number): Text[] {
  const texts: Text[] = [];
  let current: Text | undefined;
  for (const [index, line] of lines.entries()) {
    const parts = line.split(/\s*(?=@(?:param|returns|throws|see)\b)/);
    for (const [part, text] of parts.entries()) {
      const stripped = text.replace(/^@(?:param\s+\S+|returns|throws(?:\s+\{?\w+\}?)?|see)\s*/, '').trim();
      if (text.startsWith('@') || part > 0) current = undefined;
      if (stripped === '') {
        current = undefined;
        continue;
      }
      if (current) current.text += ` ${stripped}`;
      else texts.push((current = { line: firstLine + index, text: stripped }));
    }
  }
  return texts;
}

/** The paragraphs, list items and cells of a page, without code, addresses and names in backticks. */
function proseOfPage(source: string): Text[] {
  const texts: Text[] = [];
  let isCode = false;
  let current: Text | undefined;
  for (const [index, line] of source.split('\n').entries()) {
    if (/^\s*(?:```|~~~)/.test(line)) isCode = !isCode;
    if (isCode || /^\s*(?:```|~~~|<!--|<|\|[\s:|-]+\|$|#)/.test(line) || line.trim() === '') {
      current = undefined;
      continue;
    }
    if (line.startsWith('|')) {
      current = undefined;
      for (const cell of line.split('|').map((one) => one.trim()))
        if (isSentence(cell)) texts.push({ line: index + 1, text: plain(cell) });
    } else if (current && !/^\s*(?:[-*]|\d+\.)\s/.test(line)) current.text += ` ${plain(line.trim())}`;
    else texts.push((current = { line: index + 1, text: plain(line.trim().replace(/^(?:[-*>]|\d+\.)\s+/, '')) }));
  }
  return texts;
}

const plain = (text: string): string =>
  text
    .replaceAll(/`[^`]*`/g, '`…`')
    .replaceAll(/\]\([^)]*\)/g, ']')
    .replaceAll(/[[\]*]/g, '');

/** Comments, and descriptions and titles of the contract. */
function proseOfSettings(source: string): Text[] {
  const texts: Text[] = [];
  let indented: number | undefined;
  let current: Text | undefined;
  for (const [index, line] of source.split('\n').entries()) {
    const indent = line.search(/\S/);
    const block = /^(\s*)(?:description|summary|title|x-help|help):\s*(?:[>|][-+]?\s*)?(.*)$/.exec(line);
    const comment = /(?:^|\s)#\s+(.*)$/.exec(line)?.[1];
    if (block) {
      indented = indent;
      current = undefined;
      if (block[2]) texts.push((current = { line: index + 1, text: plain(block[2]) }));
    } else if (indented !== undefined && indent > indented) {
      if (current) current.text += ` ${plain(line.trim())}`;
      else texts.push((current = { line: index + 1, text: plain(line.trim()) }));
    } else {
      if (indent >= 0) indented = undefined;
      current = undefined;
      if (comment && isSentence(comment)) texts.push({ line: index + 1, text: plain(comment) });
    }
  }
  return texts;
}

function commentsOf(source: string): Range[] {
  const ranges: Range[] = [];
  const strings = stringsOf(source);
  let next = 0;
  for (const match of source.matchAll(/\/\*[^]*?\*\/|\/\/[^\n]*/g)) {
    while ((strings[next]?.to ?? Infinity) <= match.index) next++;
    const string = strings[next];
    if (string && string.from <= match.index) continue;
    const before = ranges.at(-1);
    const isContinued =
      before !== undefined &&
      match[0].startsWith('//') &&
      /^\s*$/.test(source.slice(before.to, match.index)) &&
      /\n/.test(source.slice(before.to, match.index)) &&
      source.slice(before.from, before.from + 2) === '//';
    if (isContinued) before.to = match.index + match[0].length;
    else ranges.push({ from: match.index, to: match.index + match[0].length });
  }
  return ranges;
}

/** String literals, the fixed parts of templates, and regular expressions, without their quotes. */
function stringsOf(source: string): Range[] {
  const kept = parsedStrings.get(source);
  if (kept) return kept;
  const ranges: Range[] = [];
  const parsed = ts.createSourceFile('file.ts', source, ts.ScriptTarget.Latest, false);
  const visit = (node: ts.Node): void => {
    if (ts.isTemplateExpression(node)) {
      // One text; an ellipsis replaces the expressions between the fixed parts.
      ranges.push({ from: node.getStart(parsed) + 1, to: node.end - 1 });
      return;
    }
    if (ts.isStringLiteralLike(node) || ts.isRegularExpressionLiteral(node))
      ranges.push({ from: node.getStart(parsed) + 1, to: node.end - 1 });
    ts.forEachChild(node, visit);
  };
  visit(parsed);
  parsedStrings.clear();
  parsedStrings.set(source, ranges);
  return ranges;
}
/** Caches only the last file, which is read twice. */
const parsedStrings = new Map<string, Range[]>();

function lineStarts(source: string): number[] {
  const starts = [0];
  for (let index = source.indexOf('\n'); index >= 0; index = source.indexOf('\n', index + 1)) starts.push(index + 1);
  return starts;
}

function lineOf(starts: readonly number[], position: number): number {
  let [low, high] = [0, starts.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= position) low = middle;
    else high = middle;
  }
  return low + 1;
}
