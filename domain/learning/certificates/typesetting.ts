/** How text is set on a printed certificate: in a font that has its letters, as large as its box allows. Measures in points. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { paint } from './ornaments.ts';

const fontDirectory = join(dirname(createRequire(import.meta.url).resolve('dejavu-fonts-ttf/package.json')), 'ttf');

/** The fonts of each style: the one that it is meant to be set in, and the one for scripts that the first has no letters of. */
const styles = {
  regular: { usual: 'DejaVuSerif', wide: 'DejaVuSans' },
  italic: { usual: 'DejaVuSerif-Italic', wide: 'DejaVuSans' },
  bold: { usual: 'DejaVuSerif-Bold', wide: 'DejaVuSans-Bold' },
  plain: { usual: 'DejaVuSans', wide: 'DejaVuSans' },
  code: { usual: 'DejaVuSansMono-Bold', wide: 'DejaVuSansMono-Bold' },
} as const;

export type Style = keyof typeof styles;

/** Scripts that the serifed fonts have letters of. */
const serifed =
  /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Georgian}\p{Script=Common}\p{Script=Inherited}]*$/u;

/** Makes the fonts known by their names; those that are used are embedded, with the letters that are used. */
export function registerFonts(pdf: PDFKit.PDFDocument): void {
  const names = new Set(Object.values(styles).flatMap(({ usual, wide }) => [usual, wide]));
  for (const name of names) pdf.registerFont(name, join(fontDirectory, `${name}.ttf`));
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
  style: Style;
  /** The size to begin with, in points. */
  largest: number;
  /** Ink by default. */
  color?: string;
}

/** The smallest that is still read on paper. */
const smallest = 5;

/** Sets text in the middle of its box, as large as it fits, over several lines where one is not enough. */
export function drawFitted(pdf: PDFKit.PDFDocument, text: string, box: Box): void {
  const { x, width, height, style, color = paint.ink } = box;
  pdf.font(serifed.test(text) ? styles[style].usual : styles[style].wide).fillColor(color);
  // With `features` a line is laid out as a whole, so that words of scripts from right to left keep their order.
  const options: PDFKit.Mixins.TextOptions = { width, align: 'center', features: [] };
  const heightAt = (size: number) => pdf.fontSize(size).heightOfString(text, options);
  let size = sizeOfOneLine(pdf, text, box);
  while (size > smallest && heightAt(size) > height) size -= 0.5;
  pdf.text(text, x, box.y + (height - heightAt(size)) / 2, options);
}

/** How far a line may shrink before it is rather broken into two. */
const shrinks = 0.6;

/** @returns the size at which the text is one line, as far as it may shrink for that */
function sizeOfOneLine(pdf: PDFKit.PDFDocument, text: string, { width, largest }: Box): number {
  const needed = pdf.fontSize(largest).widthOfString(text, { features: [] });
  // A little less than what fits exactly: what is rounded must not break the line.
  const fitting = Math.min(largest, (largest * width * 0.995) / needed);
  return fitting >= largest * shrinks ? fitting : largest * shrinks;
}

/** A thin line to write on. */
export function drawLine(pdf: PDFKit.PDFDocument, x: number, y: number, length: number): void {
  pdf
    .lineWidth(0.6)
    .moveTo(x, y)
    .lineTo(x + length, y)
    .stroke(paint.soft);
}
