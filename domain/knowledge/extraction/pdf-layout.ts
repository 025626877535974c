/** What stands on the pages of a PDF, from where its pieces of text are: lines, what repeats on every page, paragraphs, headings. */
import { withoutEnds } from '../../../platform/core/ends.policy.ts';
import type { SectionBuilder } from './sections.ts';
import { cleanText, lengthOf } from './text.policy.ts';

/** A piece of text as pdf.js gives it. Points, from the page's lower left corner. */
export interface TextItem {
  str: string;
  width: number;
  /** The matrix that places it: its fifth and sixth are x and y. */
  transform: readonly number[];
}

export interface Line {
  text: string;
  x: number;
  right: number;
  y: number;
  /** Of its largest letters. */
  size: number;
}

/** @returns the lines of a page in the order of the file, which is nearly always that of reading */
export function linesOf(items: Iterable<TextItem>): Line[] {
  const lines: Line[] = [];
  let line: Line | undefined;
  let last = ''; // of the line: to look at the whole of it for each piece would take long
  for (const { str, width, transform } of items) {
    if (str === '') continue;
    const [, , c = 0, d = 0, x = 0, y = 0] = transform;
    const size = Math.hypot(c, d);
    const isSame = line && Math.abs(y - line.y) <= Math.max(size, line.size) * 0.5 && x >= line.right - line.size;
    if (line && isSame) {
      const apart = x - line.right > line.size * 0.15 && last.trimEnd() === last && str.trimStart() === str;
      line.text += apart ? ` ${str}` : str;
      line.right = Math.max(line.right, x + width);
      if (str.trim() !== '') line.size = Math.max(line.size, size);
      last = str;
    } else if (str.trim() !== '') {
      line = { text: str, x, right: x + width, y, size };
      lines.push(line);
      last = str;
    }
  }
  return lines;
}

/** Lines at the head and at the foot of a page that may be on every page: so many of each. */
const edgeLines = 2;
const longestRepeated = 150;

/**
 * Drops headers and footers: what stands at the head or foot of half of the pages at least, the same but for its numbers. Half,
 * because left and right-hand pages have one each; three at least. Large letters are a heading's: their numbers count, "Chapter 2"
 * repeats nothing. A file that says nothing else keeps them.
 */
export function withoutRepeated(pages: readonly Line[][]): Line[][] {
  const { size } = mannerOf(pages);
  const edges = pages.map((page) => edgesOf(page, size * headingRules.larger));
  const counts = new Map<string, number>();
  for (const page of edges) for (const key of new Set(page.values())) counts.set(key, (counts.get(key) ?? 0) + 1);
  const enough = Math.max(3, Math.floor(pages.length / 2));
  const kept = pages.map((page, at) => page.filter((line) => (counts.get(edges[at]?.get(line) ?? '') ?? 0) < enough));
  return kept.some((page) => page.length > 0) ? kept : [...pages];
}

function edgesOf(page: readonly Line[], headingSize: number): Map<Line, string> {
  const byHeight = page.toSorted((a, b) => b.y - a.y);
  const edges = new Map<Line, string>();
  const note = (line: Line, edge: string) => {
    const words = line.text.trim().replace(/\s+/g, ' ');
    const key = line.size >= headingSize ? words : words.replace(/\d+/g, '#');
    if (key.length <= longestRepeated) edges.set(line, `${edge} ${key}`);
  };
  for (const line of byHeight.slice(0, edgeLines)) note(line, 'head');
  for (const line of byHeight.slice(-edgeLines)) if (!edges.has(line)) note(line, 'foot');
  return edges;
}

/** What is usual in a document, by which its paragraphs and headings are recognized. */
export interface Manner {
  /** Of the letters that most of the text is in. */
  size: number;
  /** From line to line of it, in sizes; undefined where too few lines follow one another. */
  leading: number | undefined;
  /** Sizes of headings, the largest first. */
  headingSizes: readonly number[];
  /** Words with a hyphen inside a line, in small letters: at the end of a line they keep it. */
  hyphenated: ReadonlySet<string>;
}

const headingRules = { larger: 1.15, longest: 120, levels: 4 } as const;

export function mannerOf(pages: readonly Line[][]): Manner {
  const charactersOf = new Map<number, number>();
  const hyphenated = new Set<string>();
  for (const { text, size } of pages.flat()) {
    charactersOf.set(rounded(size), (charactersOf.get(rounded(size)) ?? 0) + text.length);
    for (const word of hyphenatedWords(text)) hyphenated.add(word.toLowerCase());
  }
  const bySpread = [...charactersOf].toSorted(([, a], [, b]) => b - a);
  const size = bySpread[0]?.[0] ?? 0;
  const gaps = pages.flatMap((page) =>
    page.slice(1).flatMap((line, at) => {
      const gap = ((page[at]?.y ?? 0) - line.y) / size;
      return rounded(line.size) === size && gap > 0.5 && gap < 4 ? [gap] : [];
    }),
  );
  return {
    size,
    leading: gaps.length < 3 ? undefined : gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length / 2)],
    headingSizes: bySpread
      .map(([each]) => each)
      .filter((each) => each >= size * headingRules.larger)
      .toSorted((a, b) => b - a)
      .slice(0, headingRules.levels),
    hyphenated,
  };
}

const rounded = (size: number) => Math.round(size * 2) / 2;

/** Reads a page's lines into the sections. @throws Unreadable too_large */
export function readPage(lines: readonly Line[], manner: Manner, into: SectionBuilder): void {
  let paragraph: Line[] = [];
  const end = () => {
    const text = joined(paragraph, manner.hyphenated);
    const level = manner.headingSizes.indexOf(rounded(paragraph[0]?.size ?? 0)) + 1;
    if (level > 0 && paragraph.length <= 3 && lengthOf(text) <= headingRules.longest) into.heading(level, text);
    else into.paragraph({ text, kind: bullet.test(text) ? 'row' : 'prose' });
    paragraph = [];
  };
  for (const line of lines) {
    const before = paragraph.at(-1);
    if (before && beginsParagraph(before, line, manner)) end();
    paragraph.push(line);
  }
  if (paragraph.length > 0) end();
}

const bullet = /^\s*(?:[•◦▪‣●○■□–*\uF0B7\uF0A7-]|\(?(?:\d{1,3}|[a-z])[.)])\s/;
const sentenceEnd = /[.!?…:;"'”’)\]]\s*$/;

function beginsParagraph(before: Line, line: Line, { leading }: Manner): boolean {
  if (Math.abs(line.size - before.size) > before.size * 0.12) return true;
  if (bullet.test(line.text)) return true;
  const gap = before.y - line.y;
  // Up the page: another column, into which a sentence may go on.
  if (gap < -before.size * 0.5) return sentenceEnd.test(before.text);
  if (gap > line.size * (leading ?? 1.6) * 1.3) return true;
  return line.x - before.x > line.size * 0.8 && line.x - before.x < line.size * 6 && sentenceEnd.test(before.text);
}

/** @returns the words that have single hyphens inside */
export function* hyphenatedWords(text: string): Generator<string> {
  for (const [run] of text.matchAll(/[\p{L}-]+/gu)) {
    for (const part of run.split('--')) {
      const word = withoutEnds(part, '-');
      if (word.includes('-')) yield word;
    }
  }
}

/** Words with a hyphen are looked up only if they are shorter: nobody writes longer ones. */
const longestWord = 100;
const hyphens = '-\u2010\u00AD';

/** Joins lines to text. A word that is hyphenated at the end of its line becomes whole. */
export function joined(lines: readonly Pick<Line, 'text'>[], hyphenated: ReadonlySet<string>): string {
  const parts: string[] = [];
  /** What stands at the end: the last line, with the beginning of its first word where that stood in the line before. */
  let end = '';
  for (const { text: line } of lines) {
    const start = brokenWord(end);
    const rest = start === undefined ? undefined : /^\s*(\p{Ll}+)/u.exec(line)?.[1];
    if (start === undefined || rest === undefined) {
      const isFirst = end === '' && parts.length === 0;
      if (!isFirst) parts.push(end, ' ');
      end = line;
      continue;
    }
    const withHyphen = end.trimEnd();
    const keepsHyphen = hyphenated.has(`${start}-${rest}`.toLowerCase());
    const before = withHyphen.slice(0, -1 - start.length);
    parts.push(before);
    end = start + (keepsHyphen ? withHyphen.slice(-1) : '') + line.trimStart();
  }
  return cleanText(parts.join('') + end);
}

/** @returns the letters before a hyphen at the end, at most {@link longestWord}; undefined where the text does not end in such */
function brokenWord(text: string): string | undefined {
  const line = text.trimEnd();
  if (line === '' || !hyphens.includes(line.slice(-1))) return undefined;
  const letters = Array.from(line.slice(-2 * longestWord - 1, -1));
  const before = letters.findLastIndex((letter) => !/\p{L}/u.test(letter));
  const word = letters
    .slice(before + 1)
    .slice(-longestWord)
    .join('');
  return word === '' ? undefined : word;
}
