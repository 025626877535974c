/** Renders and reads PDFs with independent programs: PDFium of Chromium, and pdf.js of Firefox. */
import { PDFiumLibrary, type PDFiumPage } from '@hyzyla/pdfium';
import { loadPdfEngine } from '../../../domain/knowledge/extraction/pdf/pdf-engine.ts';

let library: Promise<PDFiumLibrary> | undefined;

async function withFirstPage<Result>(bytes: Buffer, use: (page: PDFiumPage) => Promise<Result>): Promise<Result> {
  const pdfium = await (library ??= PDFiumLibrary.init());
  const document = await pdfium.loadDocument(bytes);
  try {
    return await use(document.getPage(0));
  } finally {
    document.destroy();
  }
}

/** @returns the text that a person gets who copies the first page. Each run of white space is one space */
export function copiedText(bytes: Buffer): Promise<string> {
  return withFirstPage(bytes, (page) => Promise.resolve(page.getText().replaceAll(/\s+/g, ' ').trim()));
}

/** The shades of grey of the pixels, row by row. 0 is black. */
export interface Picture {
  width: number;
  height: number;
  data: Uint8Array;
}

/** Draws the first page as a printer would. @param scale pixels per point */
export function printedPicture(bytes: Buffer, scale: number): Promise<Picture> {
  return withFirstPage(bytes, async (page) => {
    const { width, height, data } = await page.render({ scale, colorSpace: 'Gray', render: 'bitmap' });
    return { width, height, data: Uint8Array.from(data) };
  });
}

interface ColoredPage {
  /** In pixels. */
  width: number;
  height: number;
  /** The red, green and blue of a pixel, from 0 to 255. @param x pixels from the left @param y pixels from the top */
  colorAt(x: number, y: number): [number, number, number];
}

/** @param scale pixels per point */
export function coloredPage(bytes: Buffer, scale: number): Promise<ColoredPage> {
  return withFirstPage(bytes, async (page) => {
    const { width, height, data } = await page.render({ scale, render: 'bitmap' });
    const pixels = Uint8Array.from(data);
    const colorAt = (x: number, y: number): [number, number, number] => {
      const at = 4 * (Math.round(y) * width + Math.round(x));
      return [pixels[at] ?? 0, pixels[at + 1] ?? 0, pixels[at + 2] ?? 0];
    };
    return { width, height, colorAt };
  });
}

interface Tagged {
  role?: string;
  alt?: string;
  lang?: string;
  children?: Tagged[];
}

/** @returns the parts that a screen reader reads on the first page, each with its text and language */
export async function taggedTexts(bytes: Buffer): Promise<{ role: string; text: string; language: string }[]> {
  // Loads pdf.js with the loader of the product, because the first load of pdf.js decides how it reads files in the whole process.
  const { getDocument, VerbosityLevel } = await loadPdfEngine();
  const task = getDocument({ data: new Uint8Array(bytes), verbosity: VerbosityLevel.ERRORS });
  try {
    const page = await (await task.promise).getPage(1);
    const tree = (await page.getStructTree()) as Tagged | null;
    const parts = (node: Tagged): Tagged[] => [node, ...(node.children ?? []).flatMap(parts)];
    return (tree ? parts(tree) : []).flatMap(({ role = '', alt, lang = '' }) =>
      alt === undefined ? [] : [{ role, text: alt, language: lang }],
    );
  } finally {
    await task.destroy();
  }
}
