/**
 * A corpus: documents in Markdown, with a folder for each language ({@link readCorpus}), their PDFs ({@link pdfOf}), and questions about
 * them ({@link readQuestions}). {@link standsOn} checks whether a cited text is on a page.
 */
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import PDFDocument from 'pdfkit';

const fonts = path.join(path.dirname(createRequire(import.meta.url).resolve('dejavu-fonts-ttf/package.json')), 'ttf');

export const corpusLanguages = ['en', 'pt'] as const;
export type CorpusLanguage = (typeof corpusLanguages)[number];

/** A heading, a paragraph, an item of a list, or the title of a box. */
export interface CorpusBlock {
  /** A level from 1 (highest) to 3. */
  level?: number;
  kind: 'heading' | 'paragraph' | 'item' | 'label';
  text: string;
}

export interface CorpusDocument {
  language: CorpusLanguage;
  /** Questions refer to the document by this name. */
  name: string;
  title: string;
  /** The first item is page 1. */
  pages: CorpusBlock[][];
}

export interface GoldQuestion {
  id: string;
  language: CorpusLanguage;
  document: string;
  /** Each page alone answers the question. */
  pages: number[];
  tags: string[];
  question: string;
}

/** @param directory with a folder for each language @returns the documents in a stable order */
export async function readCorpus(directory: string): Promise<CorpusDocument[]> {
  const documents: CorpusDocument[] = [];
  for (const language of corpusLanguages) {
    const names = await readdir(path.join(directory, language));
    for (const name of names.toSorted()) {
      const markdown = await readFile(path.join(directory, language, name), 'utf8');
      documents.push(documentOf(language, name.replace(/\.md$/, ''), markdown));
    }
  }
  return documents;
}

/** @param file JSON */
export async function readQuestions(file: string): Promise<GoldQuestion[]> {
  return JSON.parse(await readFile(file, 'utf8')) as GoldQuestion[];
}

function documentOf(language: CorpusLanguage, name: string, markdown: string): CorpusDocument {
  const [head = '', ...pages] = markdown.split(/^<!-- page \d+ -->$/m);
  return { language, name, title: head.replace(/^# /, '').trim(), pages: pages.map(blocksOf) };
}

function blocksOf(page: string): CorpusBlock[] {
  const lines = page.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => {
    const [, hashes, heading] = /^(#+) (.*)$/.exec(line) ?? [];
    if (hashes !== undefined && heading !== undefined)
      return { kind: 'heading', level: Math.min(hashes.length, 3), text: heading };
    if (line.startsWith('- ')) return { kind: 'item', text: line.slice(2) };
    if (/^\*\*.*\*\*$/.test(line)) return { kind: 'label', text: line.slice(2, -2) };
    return { kind: 'paragraph', text: line };
  });
}

/** In points. High enough for the longest text, so that each page becomes one page of the PDF. */
const paper = { width: 595, height: 1_400, margin: 50 };
const sizes = { title: 24, heading: [20, 16, 13], text: 10 };

/** @throws Error if a page does not fit */
export async function pdfOf(document: CorpusDocument): Promise<Buffer> {
  const pdf = new PDFDocument({
    size: [paper.width, paper.height],
    margin: paper.margin,
    info: { Title: document.title },
  });
  const bytes = buffer(pdf);
  for (const name of ['DejaVuSerif-Bold', 'DejaVuSerif']) pdf.registerFont(name, path.join(fonts, `${name}.ttf`));
  let pages = 1; // a PDF begins with one page
  pdf.on('pageAdded', () => pages++);
  for (const [place, blocks] of document.pages.entries()) {
    if (place > 0) pdf.addPage();
    else pdf.font('DejaVuSerif-Bold').fontSize(sizes.title).text(document.title).moveDown();
    for (const block of blocks) draw(pdf, block);
  }
  pdf.end();
  if (pages !== document.pages.length) throw new Error(`${document.name} has ${pages} pages in its PDF.`);
  return bytes;
}

function draw(pdf: PDFKit.PDFDocument, { kind, level = 1, text }: CorpusBlock): void {
  if (kind === 'heading') pdf.font('DejaVuSerif-Bold').fontSize(sizes.heading[level - 1] ?? sizes.text);
  else pdf.font(kind === 'label' ? 'DejaVuSerif-Bold' : 'DejaVuSerif').fontSize(sizes.text);
  pdf.text(kind === 'item' ? `• ${text}` : text, { paragraphGap: kind === 'item' ? 0 : 6 });
}

/** @param page from 1 @returns whether the page has the text, without white space, hyphens and list markers */
export function standsOn(document: CorpusDocument, page: number, text: string): boolean {
  const plain = (words: string) => words.normalize('NFKC').replace(/[\s•-]+/g, '');
  const blocks = document.pages[page - 1] ?? [];
  return (
    plain(blocks.map((block) => block.text).join('')).includes(plain(text)) ||
    (page === 1 && plain(document.title) === plain(text))
  );
}
