/** PDF files, read out page by page. */
import { getDocumentProxy } from 'unpdf';
import { indexingRules } from '../indexing/indexing.policy.ts';
import { linesOf, mannerOf, readPage, withoutRepeated, type Line } from './pdf-layout.ts';
import type { SectionBuilder } from './sections.ts';
import { readingTheFile, Unreadable } from './unreadable.ts';

/**
 * @param bytes given away: the reader may take them over
 * @param onPage called with how many pages are read, and how many there are
 * @returns the number of pages @throws Unreadable too_many_pages, too_large, file_corrupt, file_encrypted
 */
export async function readPdf(
  bytes: Uint8Array,
  into: SectionBuilder,
  onPage: (done: number, total: number) => void,
): Promise<number> {
  const document = await readingTheFile(() => getDocumentProxy(bytes, { verbosity: 0, stopAtErrors: false }), codeOf);
  const { numPages } = document;
  if (numPages > indexingRules.maxPages) throw new Unreadable('too_many_pages');
  const pages: Line[][] = [];
  let length = 0;
  for (let number = 1; number <= numPages; number++) {
    const lines = await readingTheFile(async () => {
      const page = await document.getPage(number);
      const { items } = await page.getTextContent();
      page.cleanup();
      return linesOf(items.filter((item) => 'str' in item));
    });
    pages.push(lines);
    length += lines.reduce((sum, { text }) => sum + text.length, 0);
    if (length > indexingRules.maxText) throw new Unreadable('too_large');
    onPage(number, numPages);
  }
  const kept = withoutRepeated(pages);
  const manner = mannerOf(kept);
  for (const [at, lines] of kept.entries()) {
    into.startPage(at + 1, true);
    readPage(lines, manner, into);
  }
  return numPages;
}

function codeOf(error: unknown): Unreadable['code'] {
  return error instanceof Error && error.name === 'PasswordException' ? 'file_encrypted' : 'file_corrupt';
}
