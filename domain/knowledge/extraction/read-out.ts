/** Reads a lesson or a file. The type of a file follows from its content, and not from its name. */
import { fileTypeFromBuffer } from 'file-type';
import { openArchive } from './archive.ts';
import { readMarkdown } from './text/markdown-text.ts';
import { decodeText, kindOfText, readPlain } from './text/plain-text.ts';
import { SectionBuilder, type ReadOut } from './sections.ts';
import { BadSubtitles, parseSubtitles, readCues } from './text/subtitles.policy.ts';
import { hasWords } from './text.policy.ts';
import { readingTheFile, Unreadable } from './unreadable.ts';

/** @returns the lesson's sections; an empty list if the lesson has no text @throws Unreadable too_large, file_corrupt */
export async function readLesson(markdown: string): Promise<ReadOut> {
  const into = new SectionBuilder();
  await readMarkdown(markdown, into);
  return { pageCount: null, sections: into.end(), warnings: into.warnings() };
}

/**
 * @param bytes the file; the caller can no longer use them afterwards
 * @param says the announced media type, for content that could have several types
 * @param options.onPage gets the number of pages that were read and of all pages
 * @param options.pages the pages of a PDF to read; by default all pages
 * @throws Unreadable
 */
export async function readFile(
  bytes: Uint8Array,
  says: string | null,
  { onPage, pages }: PageOptions,
): Promise<ReadOut> {
  if (bytes.length === 0) throw new Unreadable('no_text');
  const into = new SectionBuilder();
  const type = await typeOf(bytes, says);
  const pageCount = await readInto(into, type, bytes, { says, onPage, pages });
  const sections = into.end();
  const pictures = type === 'pdf' ? into.pagesWith('page_is_a_picture') : [];
  const scanned = pageCount !== null && pictures.length > 0 ? { pages: pictures, pageCount } : undefined;
  if (!sections.some(({ paragraphs }) => paragraphs.some(({ text }) => hasWords(text))))
    throw new Unreadable('no_text', into.warnings(), scanned);
  return { pageCount, sections, warnings: into.warnings(), ...(scanned && { scanned }) };
}

export interface PageOptions {
  onPage: (pagesRead: number, total: number) => void;
  pages?: readonly number[] | undefined;
}

/** @param bytes the subtitles as stored, in WebVTT @throws Unreadable too_large, file_corrupt */
export function readSubtitles(bytes: Uint8Array): ReadOut {
  const into = new SectionBuilder();
  try {
    readCues(parseSubtitles(new TextDecoder().decode(bytes), null), into);
  } catch (error) {
    throw error instanceof BadSubtitles ? new Unreadable('file_corrupt') : error;
  }
  return { pageCount: null, sections: into.end(), warnings: into.warnings() };
}

async function readInto(
  into: SectionBuilder,
  type: FileType,
  bytes: Uint8Array,
  { says, onPage, pages }: PageOptions & { says: string | null },
): Promise<number | null> {
  // The modules that read files are loaded only for a file, because a lesson does not need them.
  if (type === 'pdf') return (await import('./pdf/read-pdf.ts')).readPdf(bytes, into, { onPage, pages });
  if (type === 'zip') {
    const { OfficeFile } = await import('./office/office-file.ts');
    const file = new OfficeFile(await openArchive(bytes), into);
    const main = await file.main();
    if (main.root.name === 'w:document') {
      await (await import('./office/docx/docx-text.ts')).readDocx(file, main, into);
      return null;
    }
    if (main.root.name === 'p:presentation')
      return (await import('./office/pptx/pptx-text.ts')).readPptx(file, main, into, onPage);
    throw new Unreadable('unsupported_type');
  }
  const text = decodeText(bytes);
  const kind = kindOfText(text, says);
  if (kind === 'other') throw new Unreadable('unsupported_type');
  if (kind === 'html') (await import('./html/html-text.ts')).readHtml(text, into);
  else if (kind === 'markdown') await readMarkdown(text, into);
  else if (kind === 'csv') (await import('./text/csv-text.ts')).readCsv(text, into);
  else readPlain(text, into);
  return null;
}

/** Text formats that are not made for people to read. */
const notForReaders = /rtf|postscript|eps|x-mif|vcard|calendar/;

type FileType = 'pdf' | 'zip' | 'text';

/** @throws Unreadable unsupported_type, file_encrypted */
async function typeOf(bytes: Uint8Array, says: string | null): Promise<FileType> {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 1_024)).toString('latin1');
  const isSaidText = says?.startsWith('text/') && !/^(?:%PDF-|\{\\rtf)/.test(start) && isPlainUtf8(bytes);
  if (isSaidText) return 'text'; // a text whose first words mention PDF is not a PDF file
  if (start.includes('%PDF-')) return 'pdf';
  if (start.startsWith('PK')) return 'zip';
  if (/^(?:\xff\xfe|\xfe\xff)/.test(start)) return 'text'; // the file begins with the byte order mark of UTF-16, so it is a text
  const mime = (await readingTheFile(() => fileTypeFromBuffer(bytes)))?.mime;
  // Encrypted office files look like files in the old office formats.
  if (mime === 'application/x-cfb')
    throw new Unreadable(isEncryptedOffice(bytes) ? 'file_encrypted' : 'unsupported_type');
  if (mime === undefined || mime === 'application/xml') return 'text';
  // Some file types are recognized by their first two letters. A text may begin with the same letters, so the function first checks whether
  // the file is a text.
  if (notForReaders.test(mime) || !isPlainUtf8(bytes)) throw new Unreadable('unsupported_type');
  return 'text';
}

function isEncryptedOffice(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(
    Buffer.from('EncryptedPackage', 'utf16le'),
  );
}

function isPlainUtf8(bytes: Uint8Array): boolean {
  try {
    return !new TextDecoder('utf-8', { fatal: true }).decode(bytes).includes('\0');
  } catch {
    return false;
  }
}
