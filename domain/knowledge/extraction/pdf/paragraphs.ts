/**
 * Writes the blocks of a page into sections. Lines become paragraphs and headings. Tables and the alternative texts of pictures are also
 * written.
 */
import type { SectionBuilder } from '../sections.ts';
import { TableBuilder, type TableHeader } from '../table.ts';
import { lengthOf } from '../text.policy.ts';
import type { Block, Row } from './blocks.ts';
import { headingRules, levelOfSize, type Manner } from './manner.ts';
import { isUnspaced } from './letters/pdf-letters.ts';
import type { Line } from './letters/pdf-lines.ts';
import { joined, type Words } from './letters/words.ts';

/**
 * @param earlier the header of the table with which the previous page ends. The table may continue on this page
 * @returns the header of the table at the end of this page
 * @throws Unreadable too_large
 */
export function readBlocks(
  blocks: readonly Block[],
  manner: Manner,
  into: SectionBuilder,
  earlier?: TableHeader,
): TableHeader | undefined {
  let header = earlier;
  for (const block of blocks) {
    if ('lines' in block && block.lines.length === 0) continue;
    if (block.kind === 'table') {
      header = readTable(block.rows, manner.words, into, header);
      continue;
    }
    header = undefined;
    if (block.kind === 'picture') into.paragraph({ text: `[Picture: ${block.text}]`, kind: 'prose' });
    else if (block.kind === 'lines') readLines(withInitials(block.lines), manner, into);
    else readBlock(block, manner, into);
  }
  return header;
}

function readBlock(
  block: Extract<Block, { kind: 'prose' | 'row' | 'heading' }>,
  manner: Manner,
  into: SectionBuilder,
): void {
  const lines = withInitials(block.lines);
  const text = joined(lines, manner.words);
  if (block.kind === 'heading') return into.heading(block.level, text);
  const level = manner.hasTaggedHeadings || block.kind === 'row' ? 0 : headingLevel(lines, text, manner);
  if (level > 0) into.heading(level, text);
  else into.paragraph({ text, kind: block.kind });
}

function readTable(
  rows: readonly Row[],
  words: Words,
  into: SectionBuilder,
  earlier?: TableHeader,
): TableHeader | undefined {
  const table = new TableBuilder();
  for (const { isHeader, cells } of rows) {
    table.row(isHeader);
    for (const { lines, colspan, rowspan } of cells) table.cell(joined(lines, words), { colspan, rowspan });
  }
  return table.end(into, earlier);
}

function readLines(lines: readonly Line[], manner: Manner, into: SectionBuilder): void {
  let paragraph: Line[] = [];
  const end = () => {
    const text = joined(paragraph, manner.words);
    const level = headingLevel(paragraph, text, manner);
    if (level > 0) into.heading(level, text);
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

function headingLevel(lines: readonly Line[], text: string, manner: Manner): number {
  if (lines.length > 3 || lengthOf(text) > headingRules.longest) return 0;
  return levelOfSize(lines[0]?.size ?? 0, manner);
}

const bullet = /^\s*(?:[•◦▪‣●○■□☐☑☒➢✓–*-]|\(?(?:\d{1,3}|[a-z])[.)]|\[\d{1,3}\])\s/u;
const sentenceEnd = /[.!?…:;"'”’)\]。！？」』؟]\s*$/u;

/** Two lines belong to separate paragraphs if their distance, in letter sizes, is larger than this number. */
const widestLeading = 2.5;

function beginsParagraph(before: Line, line: Line, { leading }: Manner): boolean {
  if (Math.abs(line.size - before.size) > before.size * 0.12) return true;
  if (bullet.test(line.text)) return true;
  const gap = before.y - line.y;
  // The next line is higher on the page, so it is in the next column. A sentence may continue in the next column.
  if (gap < -before.size * 0.5) return sentenceEnd.test(before.text);
  if (gap > line.size * Math.min((leading ?? 1.6) * 1.3, widestLeading)) return true;
  return line.x - before.x > line.size * 0.8 && line.x - before.x < line.size * 6 && sentenceEnd.test(before.text);
}

/** Joins a drop cap, which spans several lines of a paragraph, to the first line. */
function withInitials(lines: readonly Line[]): Line[] {
  const result: Line[] = [];
  for (const line of lines) {
    const before = result.at(-1);
    if (!before || !isInitial(before, line)) {
      result.push(line);
      continue;
    }
    const isOneWord = line.x - before.right < line.size * 0.35 && !isUnspaced(before.text);
    const gap = isOneWord && /^\p{Ll}|^\p{Lu}{2}/u.test(line.text) ? '' : ' ';
    result[result.length - 1] = { ...line, text: before.text + gap + line.text, x: before.x };
  }
  return result;
}

function isInitial(letter: Line, line: Line): boolean {
  const top = letter.y + letter.size;
  return (
    /^["“„'«]?\p{L}$/u.test(letter.text) &&
    letter.size > line.size * 1.7 &&
    line.x >= letter.right - line.size * 0.5 &&
    line.y >= letter.y - line.size * 0.3 &&
    line.y < top
  );
}
