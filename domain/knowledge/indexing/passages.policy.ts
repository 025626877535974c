/**
 * Cuts the sections of a SectionBuilder into passages. A search finds passages, the model reads passages, and citations point to passages.
 *
 * A passage is on one page and under one path of headings. It has 300 to 600 characters (code points). Only the last passage of a section
 * may have fewer. A passage consists of blocks. A block is a sentence, a row of a table or a line of code, with the white space after it.
 * All blocks together are the text of the passage. If a passage cannot be filled with whole sentences, a sentence is cut between words.
 * Only a word that is longer than a passage is cut. If a passage continues a table, it begins with the header of the table.
 */
import type { Language } from '../../../entities/clubs/values.ts';
import type { Paragraph, Seconds, Section } from '../extraction/sections.ts';
import { lengthOf } from '../extraction/text.policy.ts';

export interface Passage {
  page: number | null;
  headings: string[];
  blocks: string[];
  text: string;
  /** The time span of each block; null if the source is not a video or sound. */
  seconds: Seconds[] | null;
}

export const passageLength = { least: 300, most: 600 } as const;

/** A block, and the white space after it. */
interface Piece {
  text: string;
  gap: string;
  /** Characters of both. */
  length: number;
  gapLength: number;
  /**
   * The number of characters up to the end of the paragraph. Only the first piece of a paragraph has this value. If possible, a passage
   * ends before such a piece.
   */
  paragraph?: number;
  /** The header of the table, if this is a row. */
  header?: string;
  /** The time span of the piece, if its text comes from subtitles. */
  seconds?: Seconds;
  /** A table's header that is repeated at the beginning of a passage. */
  isRepeated?: true;
}

/** @returns the passages in order. No word is lost or moved, and only a table's header is repeated */
export function* cutPassages(sections: Iterable<Section>, language: Language): Generator<Passage> {
  const segmenter = new Intl.Segmenter(language, { granularity: 'sentence' });
  for (const { page, headings, paragraphs } of sections) {
    for (const pieces of pack(paragraphs.flatMap((paragraph) => piecesOf(paragraph, segmenter)))) {
      const blocks = pieces.map(({ text, gap }, at) => (at === pieces.length - 1 ? text : text + gap));
      const seconds = pieces.flatMap((piece) => piece.seconds ?? []);
      yield {
        page,
        headings,
        blocks,
        text: blocks.join(''),
        seconds: seconds.length === blocks.length ? seconds : null,
      };
    }
  }
}

function piecesOf({ text, kind, header, seconds }: Paragraph, segmenter: Intl.Segmenter): Piece[] {
  const end = kind === 'row' ? '\n' : '\n\n';
  // An indent counts as white space before the line.
  const parts =
    header !== undefined || seconds
      ? [text]
      : kind === 'lines'
        ? linesOf(text.trimStart())
        : sentencesOf(text, segmenter);
  const pieces = parts.map((part, at) => pieceOf(at === parts.length - 1 ? part + end : part, { header, seconds }));
  const [first] = pieces;
  if (first) first.paragraph = visibleLength(pieces);
  return pieces;
}

/** @returns the lines with words, each with the white space after it, also the indent of the next line */
export function linesOf(text: string): string[] {
  const lines: string[] = [];
  let start = 0;
  for (const { 0: gap, index } of text.matchAll(/\n[\n ]*/g)) {
    const next = index + gap.length;
    if (next === text.length) break;
    lines.push(text.slice(start, next));
    start = next;
  }
  return [...lines, text.slice(start)];
}

function pieceOf(
  part: string,
  { header, seconds }: { header?: string | undefined; seconds?: Seconds | undefined } = {},
): Piece {
  const text = part.trimEnd();
  const gap = part.slice(text.length);
  return {
    text,
    gap,
    length: lengthOf(part),
    gapLength: gap.length,
    ...(header !== undefined && { header }),
    ...(seconds && { seconds }),
  };
}

/** @returns the pieces, with the table's header before a row */
function withHeader(pieces: Piece[]): Piece[] {
  const header = pieces[0]?.header;
  return header === undefined ? pieces : [{ ...pieceOf(`${header}\n`), isRepeated: true }, ...pieces];
}

/** A period that does not end a sentence: in an abbreviation before a name or number, or after the number of a list item. */
const abbreviation =
  /^\d{1,3}\.\s*$|(?:^|[\s([“"'])(?:\p{Lu}|[Dd]ra?|Mrs?|Ms|Profa?|Sra?|Mme|St|Sto|Sta|vs|[Ff]igs?|[Nn]o|[Pp]p?|[Pp]ágs?|[Cc]ap|[Ss]ec|[Ee]d|[Vv]ol|[Aa]rt|[Nn]r|Abb|e\.g|i\.e|p\.\s?ex|z(?:\.\s?B)?)\.\s*$/u;

/** Includes the characters around an abbreviation. */
const longestAbbreviation = 12;

function sentencesOf(text: string, segmenter: Intl.Segmenter): string[] {
  const sentences: string[] = [];
  let open = '';
  let end = ''; // the last text of the sentence that has not ended yet
  for (const { segment } of segmenter.segment(text)) {
    open += segment;
    end = (end + segment).slice(-longestAbbreviation);
    if (abbreviation.test(end)) continue;
    sentences.push(open);
    open = end = '';
  }
  return open === '' ? sentences : [...sentences, open];
}

function pack(pieces: readonly Piece[]): Piece[][] {
  const { least, most } = passageLength;
  const passages: Piece[][] = [];
  let open: Piece[] = [];
  let length = 0; // the number of characters in the pieces of the unfinished passage, with the gaps between them
  const close = () => {
    if (open.length > 0) passages.push(open);
    [open, length] = [[], 0];
  };
  const add = (piece: Piece) => {
    for (const one of open.length === 0 ? withHeader([piece]) : [piece]) {
      open.push(one);
      length += one.length;
    }
  };
  const roomTaken = (piece: Piece) => (open.length > 0 ? length : length + lengthOfHeader(piece));
  const isFull = () => length - (open.at(-1)?.gapLength ?? 0) >= least;
  for (const piece of pieces) {
    if (isFull() && piece.paragraph !== undefined && length + piece.paragraph > most) close();
    let rest = piece;
    while (roomTaken(rest) + rest.length - rest.gapLength > most) {
      if (isFull()) close();
      else {
        const [head, tail] = cut(rest, least - roomTaken(rest), most - roomTaken(rest));
        if (tail.length >= rest.length) throw new Error('Cutting a piece did not shorten it'); // otherwise the loop would never end
        add(head);
        close();
        rest = tail;
      }
    }
    add(rest);
  }
  close();
  return withoutShortTail(passages);
}

/** Returns the number of characters of the table header that a passage needs if it begins with this piece. */
function lengthOfHeader({ header }: Piece): number {
  return header === undefined ? 0 : lengthOf(header) + 1;
}

/** @returns two pieces, the first with `least` to `most` characters, cut between words if possible, preferably after a comma */
function cut(piece: Piece, least: number, most: number): [Piece, Piece] {
  const characters = Array.from(piece.text);
  let [comma, space, inside] = [0, 0, 0];
  const first = Math.max(least, 1);
  for (const [index, before] of characters.slice(first - 1, Math.min(most, characters.length - 1)).entries()) {
    const at = first + index;
    if (isSpace(before)) continue; // otherwise the first part would end with white space
    inside = at;
    if (!isSpace(characters[at] ?? '')) continue;
    space = at;
    if (/[,;:–—)]/.test(before)) comma = at;
  }
  // Stryker disable next-line ConditionalExpression: the mutant would cut a long word letter by letter, for hours
  const at = comma || space || inside;
  const tail = characters.slice(at).join('');
  const gap = tail.slice(0, tail.length - tail.trimStart().length);
  return [pieceOf(characters.slice(0, at).join('') + gap, piece), pieceOf(tail.slice(gap.length) + piece.gap, piece)];
}

/** A block has no other white space. */
function isSpace(character: string): boolean {
  return character === ' ';
}

/**
 * The last passage may be too short, although the last two are too long together. Then blocks move from the second-last passage to the last
 * passage, as long as both passages keep the limits.
 */
function withoutShortTail(passages: Piece[][]): Piece[][] {
  const { least, most } = passageLength;
  const [before, last] = passages.slice(-2);
  if (!before || !last || visibleLength(last) >= least) return passages;
  const pieces = [...before, ...last.filter(({ isRepeated }) => !isRepeated)];
  const from = before[0]?.isRepeated ? 2 : 1;
  let best = before.length;
  for (let at = before.length - 1; at >= from; at--) {
    const tail = visibleLength(withHeader(pieces.slice(at)));
    if (visibleLength(pieces.slice(0, at)) < least || tail > most) break;
    best = at;
    if (tail >= least) break;
  }
  return [...passages.slice(0, -2), pieces.slice(0, best), withHeader(pieces.slice(best))];
}

function visibleLength(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0) - (pieces.at(-1)?.gapLength ?? 0);
}
