/** Builds files as different programs write them, for tests of readers. */
import { once } from 'node:events';
import { Document, HeadingLevel, Packer, Paragraph, Table, TableCell, TableRow, TextRun } from 'docx';
import PDFDocument from 'pdfkit';
import pptxgen from 'pptxgenjs';

type DrawPage = (pdf: PDFKit.PDFDocument, page: number) => void;

/** @param draw draws each page, by its number from 1 */
export async function pdfOf(
  pages: number,
  draw: DrawPage,
  options: PDFKit.PDFDocumentOptions = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const pdf = new PDFDocument({ autoFirstPage: false, size: 'A5', ...options });
  const parts: Buffer[] = [];
  pdf.on('data', (part: Buffer) => parts.push(part));
  const ended = once(pdf, 'end');
  for (let page = 1; page <= pages; page++) {
    pdf.addPage();
    draw(pdf, page);
  }
  pdf.end();
  await ended;
  return new Uint8Array(Buffer.concat(parts));
}

const words =
  'anchor bowline cleat deck ebb fender gale halyard inlet jetty keel lee mast neap oar pier quay reef sail tide'.split(
    ' ',
  );

/** Returns this number of sentences, which differ for each seed and contain no numbers. */
export function sentences(count: number, seed: number): string {
  return Array.from({ length: count }, (_, at) => {
    const picked = Array.from(
      { length: 9 },
      (_word, place) => words[(seed * 7 + at * 5 + place * (3 + (seed % 4))) % words.length],
    );
    return `The ${picked.join(' ')}.`;
  }).join(' ');
}

/** A book as a PDF. Each page has the title at the top, a text with the number of the page, and the page number at the bottom. */
export function book(pages: number): Promise<Uint8Array<ArrayBuffer>> {
  return pdfOf(pages, (pdf, page) => {
    pdf.fontSize(8).text('A Handbook of Knots', 72, 30, { lineBreak: false });
    pdf.fontSize(10).text(`This is the ${ordinal(page)} page of the book. ${sentences(12, page)}`, 72, 72);
    pdf.fontSize(8).text(`${page}`, 200, pdf.page.height - 40, { lineBreak: false });
  });
}

const ordinal = (page: number) => `${page}${['st', 'nd', 'rd'][page - 1] ?? 'th'}`;

export async function docxOf(children: (Paragraph | Table)[]): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await Packer.toBuffer(new Document({ sections: [{ children }] })));
}

export function docxHeading(text: string, level: 1 | 2): Paragraph {
  return new Paragraph({ text, heading: level === 1 ? HeadingLevel.HEADING_1 : HeadingLevel.HEADING_2 });
}

export function docxText(text: string): Paragraph {
  return new Paragraph({ children: [new TextRun(text)] });
}

export function docxTable(rows: string[][]): Table {
  return new Table({
    rows: rows.map(
      (cells) => new TableRow({ children: cells.map((cell) => new TableCell({ children: [docxText(cell)] })) }),
    ),
  });
}

interface Slide {
  title?: string;
  texts?: string[];
  rows?: string[][];
  notes?: string;
}

export async function pptxOf(slides: readonly Slide[]): Promise<Uint8Array<ArrayBuffer>> {
  // The package is CommonJS, so its class is in the property `default` of its default export.
  const Presentation = pptxgen as unknown as typeof pptxgen.default;
  const presentation = new Presentation();
  presentation.defineSlideMaster({
    title: 'titled',
    objects: [{ placeholder: { options: { name: 'title', type: 'title', x: 0.5, y: 0.2, w: 9, h: 1 }, text: '' } }],
  });
  for (const { title, texts = [], rows, notes } of slides) {
    const slide = presentation.addSlide({ masterName: 'titled' });
    if (title !== undefined) slide.addText(title, { placeholder: 'title' });
    for (const [at, text] of texts.entries()) slide.addText(text, { x: 0.5, y: 1.5 + at, w: 9, h: 0.8 });
    if (rows)
      slide.addTable(
        rows.map((row) => row.map((text) => ({ text }))),
        { x: 0.5, y: 4 },
      );
    if (notes !== undefined) slide.addNotes(notes);
  }
  return new Uint8Array((await presentation.write({ outputType: 'nodebuffer' })) as Buffer);
}
