/**
 * Compares the result of a reader with the gold text of the file. The functions have no side effects, so their tests explain the figures.
 */
import type { SourceWarning } from '../../entities/knowledge/values.ts';
import type { Gold, GoldBlock, GoldCell } from './gold.ts';
import { canonical, tokensOf } from './tokens.ts';

/** Passages and warnings, or the code of the refusal. */
export type Reading =
  | {
      result: 'read';
      passages: readonly { headings: readonly string[]; text: string }[];
      warnings: readonly SourceWarning[];
    }
  | { result: 'unreadable'; code: string };

/** The number of right items, and of all items. */
export interface Share {
  right: number;
  of: number;
}

export interface Judgement {
  /**
   * Gold words that were read, divided by gold words plus extra words. So a wrong word counts twice: as missing and as extra. Each word
   * counts as often as it occurs. Unreadable words do not count. Hidden words and repeated headers are not extra.
   */
  words: Share;
  /** The read gold words in the order of the gold text (longest common subsequence), without blocks with `anywhere`. */
  order: Share;
  /** Numbers whose words are next to each other in the result. */
  numbers: Share;
  /**
   * Table cells whose value is in one passage with the header of its column: in a Markdown row above, or as `header: value`. An empty cell
   * also takes up a column.
   */
  cells: Share;
  /** The share of expected warnings and refusals that came. */
  warned: Share;
  /** Missing words of pages without a warning. Words of a refused file do not count. */
  lostSilently: number;
  /** Texts that the reader must not return. */
  shownWrongly: number;
  /** One on each line, in the order of the gold text. The same result always gives the same lines. */
  faults: string[];
}

export function judge(gold: Gold, reading: Reading): Judgement {
  if (gold.refused.length > 0) return judgeRefusal(gold, reading);
  const passages = reading.result === 'read' ? reading.passages : [];
  const warnings = reading.result === 'read' ? reading.warnings : [];
  const text = textOf(passages);
  const read = tokensOf(text, gold.same);
  const compared = compareWords(gold, read);
  const unknowable = gold.text.filter(({ unreadable }) => unreadable !== undefined);
  const unwarned = unknowable.filter(({ unreadable, page }) => !isWarned(warnings, page, unreadable));
  const wrongNumbers = gold.numbers.filter((number) => !hasRun(read, tokensOf(number, gold.same)));
  const wrongCells = gold.cells.filter((cell) => !passages.some((passage) => hasCell(passage.text, cell)));
  const wrongTexts = gold.absent.filter((words) => hasRun(read, tokensOf(words, gold.same)));
  const judgement: Judgement = {
    words: compared.words,
    order: compared.order,
    numbers: shareOf(gold.numbers, wrongNumbers),
    cells: shareOf(gold.cells, wrongCells),
    warned: shareOf(unknowable, unwarned),
    lostSilently: 0,
    shownWrongly: wrongTexts.length,
    faults: [],
  };
  if (reading.result === 'unreadable') return { ...judgement, faults: [`refused as ${reading.code}`] };
  const missingCount = compared.missing
    .filter(({ block }) => !isWarned(warnings, block.page))
    .map(({ words }) => words.length);
  judgement.lostSilently = sum([...missingCount, ...unwarned.map((block) => tokensOf(block.text, gold.same).length)]);
  judgement.faults = [
    ...missingFaults(compared.missing, gold),
    ...(compared.extra.length > 0 ? [`extra: ${shortened(compared.extra.join(' '))}`] : []),
    ...(compared.order.right < compared.order.of ? [`order: ${compared.moved.join(' ')}`] : []).map(shortened),
    ...wrongNumbers.map((number) => `number: ${number}`),
    ...wrongCells.map(({ column, row, value }) => `cell: ${row} / ${column} = ${value || '(empty)'}`),
    ...unwarned.map(
      ({ unreadable = '', page }) => `not warned: ${unreadable}${page === undefined ? '' : ` on page ${page}`}`,
    ),
    ...wrongTexts.map((words) => `shown: ${words}`),
  ];
  return judgement;
}

const none: Share = { right: 0, of: 0 };

function judgeRefusal({ refused }: Gold, reading: Reading): Judgement {
  const came = reading.result === 'unreadable' ? reading.code : undefined;
  const isRight = came !== undefined && refused.includes(came);
  return {
    words: none,
    order: none,
    numbers: none,
    cells: none,
    warned: { right: isRight ? 1 : 0, of: 1 },
    lostSilently: 0,
    shownWrongly: came === undefined ? 1 : 0,
    faults: isRight ? [] : [came === undefined ? `read, not refused as ${refused.join(' or ')}` : `refused as ${came}`],
  };
}

/** In reading order. When the path of headings changes, it has all headings from the first changed one on. */
function textOf(passages: readonly { headings: readonly string[]; text: string }[]): string {
  const parts: string[] = [];
  let path: readonly string[] = [];
  for (const { headings, text } of passages) {
    const same = headings.findIndex((heading, at) => heading !== path[at]);
    if (same >= 0) parts.push(...headings.slice(same));
    path = headings;
    parts.push(text);
  }
  return parts.join('\n');
}

interface Missing {
  block: GoldBlock;
  words: string[];
}

interface Compared {
  words: Share;
  order: Share;
  missing: Missing[];
  extra: string[];
  /** Words that were read in a wrong order. */
  moved: string[];
}

function compareWords(gold: Gold, read: readonly string[]): Compared {
  const blocks = gold.text.map((block) => ({ block, words: tokensOf(block.text, gold.same) }));
  const readable = blocks.filter(({ block }) => block.unreadable === undefined);
  const ordered = readable
    .filter(({ block }) => !block.anywhere)
    .flatMap(({ block, words }) => words.map((word) => ({ block, word })));
  const pairs = commonSubsequence(
    ordered.map(({ word }) => word),
    read,
  );
  const aligned = new Set(pairs.map(([at]) => at));
  const used = new Set(pairs.map(([, at]) => at));
  const rest = new Bag(read.filter((_, at) => !used.has(at)));
  const missing = new Map<GoldBlock, string[]>();
  const miss = (block: GoldBlock, word: string) => missing.set(block, [...(missing.get(block) ?? []), word]);
  for (const { block, words } of readable.filter((one) => one.block.anywhere))
    for (const word of words) if (!rest.take(word)) miss(block, word);
  const moved: string[] = [];
  for (const [at, { block, word }] of ordered.entries()) {
    if (aligned.has(at)) continue;
    if (rest.take(word)) moved.push(word);
    else miss(block, word);
  }
  for (const words of [
    ...gold.hidden,
    ...blocks.filter((one) => one.block.unreadable !== undefined).map((one) => one.block.text),
  ])
    for (const word of tokensOf(words, gold.same)) rest.take(word);
  const repeatable = new Set(gold.repeatable.flatMap((words) => tokensOf(words, gold.same)));
  const extra = rest.words().filter((word) => !repeatable.has(word));
  const all = sum(readable.map(({ words }) => words.length));
  const missingCount = sum([...missing.values()].map((words) => words.length));
  return {
    words: { right: all - missingCount, of: all + extra.length },
    order: { right: pairs.length, of: pairs.length + moved.length },
    missing: readable.flatMap(({ block }) => (missing.has(block) ? [{ block, words: missing.get(block) ?? [] }] : [])),
    extra,
    moved,
  };
}

class Bag {
  readonly #counts = new Map<string, number>();

  constructor(words: readonly string[]) {
    for (const word of words) this.#counts.set(word, (this.#counts.get(word) ?? 0) + 1);
  }

  take(word: string): boolean {
    const count = this.#counts.get(word) ?? 0;
    if (count > 0) this.#counts.set(word, count - 1);
    return count > 0;
  }

  words(): string[] {
    return [...this.#counts].flatMap(([word, count]) => Array.from({ length: count }, () => word));
  }
}

/** @returns Pairs of positions. Time and memory grow with the product of the two lengths. */
function commonSubsequence(one: readonly string[], other: readonly string[]): [number, number][] {
  const width = other.length + 1;
  const lengths = new Uint16Array((one.length + 1) * width);
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0;
  for (let row = one.length - 1; row >= 0; row--) {
    for (let column = other.length - 1; column >= 0; column--) {
      lengths[row * width + column] =
        one[row] === other[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const pairs: [number, number][] = [];
  for (let row = 0, column = 0; row < one.length && column < other.length;) {
    if (one[row] === other[column]) pairs.push([row++, column++]);
    else if (at(row + 1, column) >= at(row, column + 1)) row += 1;
    else column += 1;
  }
  return pairs;
}

function hasRun(words: readonly string[], run: readonly string[]): boolean {
  return words.some((_, start) => run.every((word, at) => words[start + at] === word));
}

function hasCell(passage: string, cell: GoldCell): boolean {
  const [column, row, value] = [cell.column, cell.row, cell.value].map(normalized) as [string, string, string];
  const lines = passage.split('\n').map((line) => line.split(/(?<!\\)\|/).map(normalized));
  return lines.some((cells, at) => {
    if (!cells.some((one) => one === row || one.endsWith(`: ${row}`))) return false;
    const labelled = cells.filter((one) => one.startsWith(`${column}: `) || one === `${column}:`);
    if (labelled.length > 0) return labelled.some((one) => normalized(one.slice(column.length + 1)) === value);
    const places = lines
      .slice(0, at)
      .flatMap((header) => header.flatMap((one, place) => (one === column ? [place] : [])));
    if (places.length === 0) return false;
    return places.some((place) => value === (isEmptyCell(cells[place]) ? '' : cells[place]));
  });
}

const normalized = (text: string) => canonical(text).replaceAll('\\|', '|').replace(/\s+/g, ' ').trim();
const isEmptyCell = (cell: string | undefined) => cell === undefined || ['', '-', '–', '—'].includes(cell);

/**
 * @param page with lost words; undefined if the file has no pages
 * @param code the expected warning; if undefined, any warning about lost text
 */
function isWarned(warnings: readonly SourceWarning[], page: number | undefined, code?: string): boolean {
  return warnings.some(
    (warning) =>
      (code === undefined ? warning.code !== 'hidden_left_out' : warning.code === code) &&
      (page === undefined || warning.pages.length === 0 || warning.pages.includes(page)),
  );
}

/** If the text of a whole file is missing, the first blocks are enough. */
const mostMissing = 12;

function missingFaults(missing: readonly Missing[], gold: Gold): string[] {
  const shownMissing = missing.slice(0, mostMissing).map(({ block, words }) => missingFault(block, words, gold));
  const further = missing.length - shownMissing.length;
  return further > 0 ? [...shownMissing, `missing: words of ${further} further blocks`] : shownMissing;
}

function missingFault({ text }: GoldBlock, words: readonly string[], { same }: Gold): string {
  const isWhole = words.length > 1 && words.length === tokensOf(text, same).length;
  return isWhole
    ? `missing whole: ${shortened(text)}`
    : `missing: ${shortened(words.join(' '))} (in: ${shortened(text)})`;
}

const longestFault = 80;
const shortened = (text: string) => {
  const characters = Array.from(text.replace(/\s+/g, ' '));
  return characters.length <= longestFault ? characters.join('') : `${characters.slice(0, longestFault).join('')}…`;
};

const shareOf = (all: readonly unknown[], wrong: readonly unknown[]): Share => ({
  right: all.length - wrong.length,
  of: all.length,
});

const sum = (numbers: readonly number[]) => numbers.reduce((all, number) => all + number, 0);
