/** Reads PDF files page by page. */
import { indexingRules } from '../../indexing/indexing.policy.ts';
import type { PageOptions } from '../read-out.ts';
import type { SectionBuilder } from '../sections.ts';
import type { TableHeader } from '../table.ts';
import { readingTheFile, Unreadable } from '../unreadable.ts';
import type { Block, Cell } from './blocks.ts';
import { withoutRepeated } from './furniture.ts';
import { mannerOf } from './manner.ts';
import { readBlocks } from './paragraphs.ts';
import { openPdf } from './pdf-engine.ts';
import { notesOf, withNotes } from './notes.ts';
import { pdfReader, type Page } from './pdf-page.ts';

/**
 * @param bytes the file; the caller can no longer use them afterwards
 * @param options.onPage gets the number of pages that were read and of all pages
 * @param options.pages the pages to read, in order, from 1; by default all pages
 * @returns the number of pages of the file
 * @throws Unreadable too_many_pages, too_large, file_corrupt, file_encrypted
 */
export async function readPdf(
  bytes: Uint8Array,
  into: SectionBuilder,
  { onPage, pages: wanted }: PageOptions,
): Promise<number> {
  // pdf.js reports an encrypted part of a file as broken.
  const broken = hasEncryptedParts(bytes) ? 'part_encrypted' : 'part_skipped';
  let isPageBroken = false;
  const warned = (message: string) => (isPageBroken ||= isBroken(message));
  const document = await readingTheFile(() => openPdf(bytes, warned), codeOf);
  const { numPages } = document;
  if (numPages > indexingRules.maxPages) throw new Unreadable('too_many_pages');
  const reader = await readingTheFile(() => pdfReader(document));
  const attached = (await readingTheFile(() => document.getAttachments())) as Map<string, unknown> | null;
  for (let remaining = attached?.size ?? 0; remaining > 0; remaining--) into.warn('part_skipped');
  const numbers = wanted?.filter((number) => number <= numPages) ?? Array.from({ length: numPages }, (_, at) => at + 1);
  const pages: NumberedPage[] = [];
  let length = 0;
  for (const number of numbers) {
    isPageBroken = false;
    const page = await readingTheFile(() => reader.readPage(number));
    if (isPageBroken) page.warnings.push(broken);
    pages.push({ ...page, number });
    length += page.length;
    if (length > indexingRules.maxText) throw new Unreadable('too_large');
    onPage(number, numPages);
  }
  writePages(pages, into);
  return numPages;
}

/** Whether the warning of pdf.js says that pdf.js could not read the rest of a page. */
function isBroken(message: string): boolean {
  return message.includes('getOperatorList - ignoring errors');
}

function hasEncryptedParts(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes('/Crypt');
}

function codeOf(error: unknown): Unreadable['code'] {
  return error instanceof Error && error.name === 'PasswordException' ? 'file_encrypted' : 'file_corrupt';
}

type NumberedPage = Page & { number: number };

/** @throws Unreadable too_large */
function writePages(pages: readonly NumberedPage[], into: SectionBuilder): void {
  const { size } = mannerOf(pages.map(({ blocks }) => blocks));
  const keptPages = withoutRepeated(pages, size);
  const manner = mannerOf(keptPages.map(({ blocks }) => blocks));
  const isUsual = usualPictures(pages);
  let header: TableHeader | undefined;
  for (const { number, blocks, asides, pictures, warnings } of keptPages) {
    into.startPage(number, true);
    for (const code of warnings) into.warn(code);
    for (const picture of pictures) if (!isUsual(picture)) into.warn('picture_without_text');
    const all: Block[] = asides.length > 0 ? [...blocks, { kind: 'lines', lines: asides }] : blocks;
    header = readBlocks(withNoteMarks(all, manner.size), manner, into, header);
  }
}

function withNoteMarks(blocks: readonly Block[], size: number): Block[] {
  const notes = notesOf(
    blocks.flatMap((block) => ('lines' in block ? block.lines : [])),
    size,
  );
  if (notes.marks.size === 0) return [...blocks];
  const inCell = (cell: Cell): Cell => ({ ...cell, lines: cell.lines.map((line) => withNotes(line, notes)) });
  return blocks.map((block): Block => {
    if (block.kind === 'table')
      return { ...block, rows: block.rows.map((row) => ({ ...row, cells: row.cells.map(inCell) })) };
    return 'lines' in block ? { ...block, lines: block.lines.map((line) => withNotes(line, notes)) } : block;
  });
}

type PlacedPicture = Page['pictures'][number];

/** @returns whether the picture is at the same position on at least half of the pages, so that it must be a logo or a background */
function usualPictures(pages: readonly Page[]): (picture: PlacedPicture) => boolean {
  const keyOf = ({ x, y, width, height }: PlacedPicture) => [x, y, width, height].map(Math.round).join(' ');
  const counts = new Map<string, number>();
  for (const { pictures } of pages)
    for (const key of new Set(pictures.map(keyOf))) counts.set(key, (counts.get(key) ?? 0) + 1);
  const enough = Math.max(3, Math.floor(pages.length / 2));
  return (picture) => (counts.get(keyOf(picture)) ?? 0) >= enough;
}
