/**
 * Cutting sections, as SectionBuilder leaves them, into passages: what retrieval finds, the model is shown and a citation names.
 *
 * A passage stands on one page and under one path of headings. It has 300 to 600 characters (code points); the last of its
 * section alone may have fewer. Its blocks are sentences (rows of a table, lines of code) with the white space after them:
 * joined they are its text. A sentence is cut, between words, only where one passage cannot be filled otherwise; a word only
 * if it is longer than a passage has room for. A passage that goes on with the rows of a table begins with the table's header.
 */
import type { Language } from '../../../entities/clubs/values.ts';
import type { Paragraph, Seconds, Section } from '../extraction/sections.ts';
import { lengthOf } from '../extraction/text.policy.ts';

export interface Passage {
  page: number | null;
  headings: string[];
  blocks: string[];
  text: string;
  /** When each block is said; null for what is no video or sound. */
  seconds: Seconds[] | null;
}

export const passageLength = { least: 300, most: 600 } as const;

/** A block, and the white space that follows it in the section. */
interface Piece {
  text: string;
  gap: string;
  /** Characters of both. */
  length: number;
  gapLength: number;
  /** Characters from here to the end of its paragraph, on its first piece alone: where a passage may better end before it. */
  paragraph?: number;
  /** Of a row of a table: its header. */
  header?: string;
  /** Of subtitles: when it is said. */
  seconds?: Seconds;
  /** It is such a header, before rows that go on. */
  isRepeated?: true;
}

/** @returns the passages of these sections, in their order: no word is lost or moved, and none but a table's header stands twice */
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
  // What a line is indented by belongs to the white space before it.
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

/** @returns the lines that have words, each with the white space after it and that which the next one is indented by */
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

/** @returns the pieces of a passage, after the header of the table whose row is the first of them */
function withHeader(pieces: Piece[]): Piece[] {
  const header = pieces[0]?.header;
  return header === undefined ? pieces : [{ ...pieceOf(`${header}\n`), isRepeated: true }, ...pieces];
}

/** Words that end in a period, and no sentence with it, when a name or number follows; and the number of an item. */
const abbreviation =
  /^\d{1,3}\.\s*$|(?:^|[\s([“"'])(?:\p{Lu}|[Dd]ra?|Mrs?|Ms|Profa?|Sra?|Mme|St|Sto|Sta|vs|[Ff]igs?|[Nn]o|[Pp]p?|[Pp]ágs?|[Cc]ap|[Ss]ec|[Ee]d|[Vv]ol|[Aa]rt|[Nn]r|Abb|e\.g|i\.e|p\.\s?ex|z(?:\.\s?B)?)\.\s*$/u;

/** Of an abbreviation, with what stands around it. */
const longestAbbreviation = 12;

function sentencesOf(text: string, segmenter: Intl.Segmenter): string[] {
  const sentences: string[] = [];
  let open = '';
  let end = ''; // of the open one
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
  let length = 0; // of the open ones, with their gaps
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
        if (tail.length >= rest.length) throw new Error('What is left of a piece is shorter than the piece'); // or this never ends
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

/** Characters of the header that a passage beginning with this piece has before it. */
function lengthOfHeader({ header }: Piece): number {
  return header === undefined ? 0 : lengthOf(header) + 1;
}

/** @returns the piece as two, the first of `least` to `most` characters: between words if it can be, best after a comma */
function cut(piece: Piece, least: number, most: number): [Piece, Piece] {
  const characters = Array.from(piece.text);
  let [comma, space, inside] = [0, 0, 0];
  const first = Math.max(least, 1);
  for (const [place, before] of characters.slice(first - 1, Math.min(most, characters.length - 1)).entries()) {
    const at = first + place;
    if (isSpace(before)) continue; // the first part would be shorter than it looks
    inside = at;
    if (!isSpace(characters[at] ?? '')) continue;
    space = at;
    if (/[,;:–—)]/.test(before)) comma = at;
  }
  // Stryker disable next-line ConditionalExpression: a long word would be cut letter by letter, for hours
  const at = comma || space || inside;
  const tail = characters.slice(at).join('');
  const gap = tail.slice(0, tail.length - tail.trimStart().length);
  return [pieceOf(characters.slice(0, at).join('') + gap, piece), pieceOf(tail.slice(gap.length) + piece.gap, piece)];
}

/** No other white space stands inside a block. */
function isSpace(character: string): boolean {
  return character === ' ';
}

/** Gives a last passage that is too short some blocks of the one before it, as far as both keep their bounds. Together they are too long for one. */
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
