/** Builds lines of text from the letters of a page, in reading order. */
import { withoutDoubles, withoutReadings, type Letter } from './painted-letters.ts';
import type { Box } from '../pdf-drawing.ts';
import { isMark, isRightToLeft, isUnspaced } from './pdf-letters.ts';
import { isMostlyRightToLeft, logical } from './right-to-left.ts';
import { lowered, noteMark, raised } from '../../raised.policy.ts';

/** A part of a line without a wide gap: a line of prose, or the words of a cell. Positions and sizes are in points. */
export interface Segment {
  text: string;
  x: number;
  right: number;
  y: number;
  /** The size of most letters of the segment. */
  size: number;
  parts: readonly Part[];
}

type Level = 'raised' | 'lowered' | 'even';

interface Part {
  text: string;
  level: Level;
}

export interface Line extends Omit<Segment, 'parts'> {
  segments: readonly Segment[];
}

/**
 * The minimum widths of gaps, in letter sizes. A gap of `blank` counts as a space. In scripts without spaces, only a gap of `unspaced`
 * counts as a space. A gap of `cell` divides two cells.
 */
const gaps = { blank: 0.16, unspaced: 0.6, cell: 0.95 } as const;

/**
 * @param rules vertical lines of tables, which divide cells
 * @returns the lines in the order of the file, which is nearly always the reading order
 */
export function linesOf(letters: Iterable<Letter>, rules: readonly Box[] = []): Line[] {
  return rowsOf(letters).flatMap((row) => {
    const segments = segmentsOf(row, rules);
    return segments.length === 0 ? [] : [lineOf(segments)];
  });
}

export function lineOf(segments: readonly Segment[]): Line {
  const ordered = isMostlyRightToLeft(segments.map(({ text }) => text).join('')) ? segments.toReversed() : segments;
  const widest = segments.reduce((a, b) => (b.text.length > a.text.length ? b : a));
  return {
    segments,
    text: ordered.map(({ text }) => text).join(' '),
    x: segments.reduce((least, { x }) => Math.min(least, x), Infinity),
    right: segments.reduce((most, { right }) => Math.max(most, right), -Infinity),
    y: widest.y,
    size: segments.reduce((most, { size }) => Math.max(most, size), 0),
  };
}

interface Row {
  letters: Letter[];
  size: number;
  y: number;
  right: number;
  isRightToLeft: boolean;
}

function rowsOf(letters: Iterable<Letter>): Row[] {
  const rows: Row[] = [];
  let row: Row | undefined;
  let blanks: Letter[] = [];
  for (const letter of withoutReadings(withoutDoubles(letters))) {
    if (letter.text.trim() === '') {
      blanks.push(letter);
      continue;
    }
    if (!row || !continues(row, letter)) {
      row = { letters: [], size: letter.size, y: letter.y, right: letter.x, isRightToLeft: false };
      rows.push(row);
      blanks = [];
    }
    for (const blank of blanks) if (Math.abs(blank.y - row.y) <= row.size * 0.5) row.letters.push(blank);
    blanks = [];
    row.letters.push(letter);
    if (letter.size > row.size) [row.size, row.y] = [letter.size, letter.y];
    row.right = Math.max(row.right, letter.x + letter.width);
    row.isRightToLeft ||= isRightToLeft(letter.text);
  }
  return rows;
}

/** A letter counts as a drop cap if it is larger than the text by at least this factor. */
const initialFactor = 1.7;

function continues(row: Row, letter: Letter): boolean {
  const [larger, smaller] = [Math.max(row.size, letter.size), Math.min(row.size, letter.size)];
  if (smaller < larger * 0.35) return false;
  const apart = Math.abs(letter.y - row.y);
  if (row.letters.length <= 2 && row.size > letter.size * initialFactor && apart > 0.05 * row.size) return false;
  if (apart > larger * 0.5) return false;
  return row.isRightToLeft || isRightToLeft(letter.text) || letter.x >= row.right - larger;
}

/** A letter with the marks above and below it, or a space. */
interface Cluster extends Letter {
  level: Level;
}

function segmentsOf(row: Row, rules: readonly Box[]): Segment[] {
  const clusters: Cluster[] = [];
  let early = ''; // some files draw a mark before its letter
  for (const letter of row.letters) {
    const before = clusters.at(-1);
    if (!isMark(letter.text)) {
      clusters.push({ ...letter, text: letter.text + early, level: 'even' });
      early = '';
    } else if (before && row.isRightToLeft && letter.x > before.x + before.width) early += letter.text;
    else if (before) {
      before.text += letter.text;
      before.width = Math.max(before.width, letter.x + letter.width - before.x);
    }
  }
  if (row.isRightToLeft) clusters.sort((a, b) => a.x - b.x);
  const beside = rules.filter(({ y, height }) => y <= row.y + row.size * 0.3 && y + height >= row.y + row.size * 0.3);
  const segments: Cluster[][] = [];
  let last: Cluster | undefined;
  for (const cluster of clusters) {
    if (cluster.text.trim() === '') {
      segments.at(-1)?.push(cluster);
      continue;
    }
    const divides = !last || isDivided(last, cluster, beside);
    if (divides) segments.push([cluster]);
    else segments.at(-1)?.push(cluster);
    last = cluster;
  }
  return segments.map(segmentOf);
}

function isDivided(before: Letter, letter: Letter, rules: readonly Box[]): boolean {
  const [from, to] = [before.x + before.width, letter.x];
  if (to - from > Math.max(before.size, letter.size) * gaps.cell) return true;
  return rules.some(({ x, width }) => x + width / 2 > from - 0.5 && x + width / 2 < to + 0.5 && to > from - 0.5);
}

/** Finds the size of most letters, and the height of the letters with this size. */
function baseOf(letters: readonly Letter[]): { size: number; y: number } {
  const counts = new Map<number, { size: number; y: number; count: number }>();
  for (const { text, size, y } of letters) {
    if (text.trim() === '') continue;
    const key = Math.round(size * 2);
    const entry = counts.get(key) ?? { size, y, count: 0 };
    entry.count += 1;
    counts.set(key, entry);
  }
  return [...counts.values()].reduce((a, b) => (b.count > a.count || (b.count === a.count && b.size > a.size) ? b : a));
}

function levelOf({ size, y }: Letter, base: { size: number; y: number }): Level {
  const [up, ratio] = [(y - base.y) / base.size, size / base.size];
  if (ratio > 1.1) return 'even';
  if (ratio > 0.92) return up > 0.25 ? 'raised' : up < -0.18 ? 'lowered' : 'even';
  if (up > (ratio > 0.8 ? 0.2 : 0.12)) return 'raised';
  return up < (ratio > 0.8 ? -0.12 : -0.05) ? 'lowered' : 'even';
}

/** In characters. A raised or lowered text with more characters counts as normal text. */
const longestRaised = 16;

function segmentOf(letters: readonly Cluster[]): Segment {
  const base = baseOf(letters);
  for (const cluster of letters) if (cluster.text.trim() !== '') cluster.level = levelOf(cluster, base);
  const clusters = withBlanks(letters);
  const parts = partsOf(isMostlyRightToLeft(joinedText(clusters)) || hasRightToLeft(clusters) ? logical(clusters) : clusters); // prettier-ignore
  const solid = letters.filter(({ text }) => text.trim() !== '');
  return {
    text: textOf(parts, noMarks),
    parts,
    x: solid.reduce((least, { x }) => Math.min(least, x), Infinity),
    right: solid.reduce((most, { x, width }) => Math.max(most, x + width), -Infinity),
    y: base.y,
    size: base.size,
  };
}

function joinedText(clusters: readonly Cluster[]): string {
  return clusters.map(({ text }) => text).join('');
}

function hasRightToLeft(clusters: readonly Cluster[]): boolean {
  return clusters.some(({ text }) => isRightToLeft(text));
}

function partsOf(clusters: readonly Cluster[]): Part[] {
  const parts: Part[] = [];
  for (const { text, level } of clusters) {
    const before = parts.at(-1);
    if (before && (before.level === level || text === ' ')) before.text += text;
    else parts.push({ text, level });
  }
  return parts.map((part) => (part.text.trim().length > longestRaised ? { ...part, level: 'even' } : part));
}

/** Inserts a space at each wide gap, except in headings with spaced letters and in scripts that always have gaps. */
function withBlanks(clusters: readonly Cluster[]): Cluster[] {
  const solid = clusters.filter(({ text }) => text.trim() !== '');
  const typed = new Set<Cluster>();
  for (const [at, cluster] of clusters.entries()) {
    const next = clusters[at + 1];
    if (cluster.text.trim() === '' && next && next.text.trim() !== '') typed.add(next);
  }
  const blankFrom = blankGapOf(solid);
  const result: Cluster[] = [];
  for (const [at, cluster] of solid.entries()) {
    const before = solid[at - 1];
    if (before && isApart(before, cluster, typed.has(cluster), blankFrom))
      result.push({ ...cluster, text: ' ', width: 0, level: 'even' });
    result.push(cluster);
  }
  return result;
}

function isApart(before: Cluster, cluster: Cluster, isTyped: boolean, spacedFrom: number | undefined): boolean {
  const gap = cluster.x - before.x - before.width;
  if (spacedFrom !== undefined) return gap > spacedFrom;
  if (isTyped) return true;
  const isBeside = before.level !== cluster.level; // raised and lowered letters are smaller than the letters beside them
  const size = isBeside ? Math.max(before.size, cluster.size) : Math.min(before.size, cluster.size);
  const isTight = isUnspaced(cluster.text) || isUnspaced(before.text.slice(-1));
  return gap > size * (isTight ? gaps.unspaced : gaps.blank);
}

/** @returns the smallest gap between two words in spaced letters, as in "H e a d i n g"; undefined for normal words */
function blankGapOf(solid: readonly Cluster[]): number | undefined {
  const least = 4;
  if (solid.length < least || !solid.every(({ text }) => /^[\p{L}\p{P}\p{M}]+$/u.test(text) && !isUnspaced(text)))
    return undefined;
  if (solid.every(({ text }, at) => at === 0 || text > (solid[at - 1]?.text ?? ''))) return undefined; // a list such as A B C D
  const between = solid.slice(1).map((cluster, at) => cluster.x - (solid[at]?.x ?? 0) - (solid[at]?.width ?? 0));
  const size = solid[0]?.size ?? 0;
  const wide = between.filter((gap) => gap > size * gaps.blank);
  if (wide.length < between.length * 0.85) return undefined;
  const usual = wide.toSorted((a, b) => a - b)[Math.floor(wide.length / 2)] ?? 0;
  return usual * 1.6;
}

const noMarks: ReadonlySet<string> = new Set();

/**
 * @param notes the marks of the notes at the foot of the page. If such a mark is raised in the text, it is a reference to the note and not
 * part of a number
 */
export function textOf(parts: readonly Part[], notes: ReadonlySet<string>): string {
  let text = '';
  for (const [at, part] of parts.entries()) {
    const word = part.text.trim();
    const bracketed = /^[[(](\d{1,3}|[*†‡§¶]+)[\])]$/u.exec(word)?.[1];
    if (part.level === 'even') text += part.text;
    else if (bracketed !== undefined && part.level === 'raised') text += noteMark(bracketed) + blankAfter(part.text);
    else if (part.level === 'lowered') text += lowered(part.text);
    else if (at === 0 && notes.has(word)) text += `[${word}] `;
    else if (notes.has(word) && !isPower(text, word)) text += noteMark(word) + blankAfter(part.text);
    else text += raised(part.text);
  }
  return text;
}

const noteMarks = /^(?:\d{1,3}|[*†‡§¶]{1,3}|[a-z])$/;

/** Whether a raised word may be the mark of a note. */
export function isNoteMark(word: string): boolean {
  return noteMarks.test(word);
}

function blankAfter(text: string): string {
  return text.trimEnd() === text ? '' : ' ';
}

/** The raised digit of square and cubic metres is not the mark of a note. */
function isPower(before: string, mark: string): boolean {
  return /^[23]$/.test(mark) && /(?:^|[^\p{L}])(?:[kcdm]?m|ft|in|yd)$/u.test(before);
}
