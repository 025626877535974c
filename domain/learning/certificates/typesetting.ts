/** Sets text on a certificate, in fonts that have its letters and in the largest size that fits. Measures are in points. */
import { directionOf } from '../../language/languages.ts';
import { baseDirectionOf } from './letters/bidi.ts';
import { embedFontsIn, hex, type EmbeddedFont } from './letters/embedding.ts';
import type { Style } from './letters/font-files.ts';
import { breakIntoLines, type Line } from './letters/lines.ts';
import { prepareText, shapeLine, type PlacedGlyph, type PreparedText } from './letters/shaping.ts';
import { paint } from './ornaments.ts';

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
  style: Style;
  /** The largest size to try, in points. */
  largest: number;
  /** The colour of the text. If absent, the standard colour is used. */
  color?: string;
  /** The role in the document's structure; by default a paragraph. */
  role?: 'H1' | 'H2' | 'P' | 'TD' | 'TH';
  /** The element of the document's structure that contains the text; by default the document itself. */
  parent?: PDFKit.PDFStructureElement;
  /** The side of the box at which the lines stand; by default its middle. The start is on the right if the language runs from there. */
  align?: 'middle' | 'start' | 'end';
  /** Whether a text that is too long for one line is broken into lines without a smaller size, if these fit. */
  keepsSize?: boolean;
}

export interface Typesetter {
  /**
   * Sets text in its box, in the largest size that fits, in several lines if needed.
   * @param written a text in logical order. Its first letter with a strong direction decides its writing direction. If the text has no such
   * letter, the language decides
   */
  draw(written: string, box: Box): Promise<void>;
  /** Embeds the fonts. Call this function once, after all text was set. */
  finish(): void;
}

/** Smaller text is not readable on paper. */
const smallest = 5;
/**
 * A text shrinks at most to this share of its largest size, to fit into one line. A text that would need a smaller size is broken into two
 * lines.
 */
const shrinks = 0.6;
/** The distance by which the marks of letters may extend beyond the box. Marks that extend farther would cover other text. */
const overshoot = 6;

/** @param language a BCP 47 tag, for the forms of letters and the direction of a text without letters */
export function createTypesetter(pdf: PDFKit.PDFDocument, language: string): Typesetter {
  const fonts = embedFontsIn(pdf);
  return {
    async draw(written, box) {
      const text = inOneParagraph(written);
      if (text === '') return;
      const direction = baseDirectionOf(text, directionOf(language));
      const prepared = await prepareText(text, { style: box.style, language, direction });
      const { size, lines } = fit(prepared, box);
      const role = pdf.struct(box.role ?? 'P', { actual: text, lang: language }, () => {
        pdf
          .save()
          .rect(box.x, box.y - overshoot, box.width, box.height + 2 * overshoot)
          .clip();
        pdf.fillColor(box.color ?? paint.ink);
        let top = box.y + (box.height - size * heightOf(prepared) * lines.length) / 2;
        for (const { from, to } of lines) {
          const { glyphs, width } = shapeLine(prepared, from, to);
          const x = box.x + (box.width - width * size) * shareBefore(box, language);
          drawGlyphs(pdf, (glyph) => fonts.of(glyph.font), glyphs, { x, y: top + size * ascentOf(prepared), size });
          top += size * heightOf(prepared);
        }
        pdf.restore();
      });
      if (box.parent) box.parent.add(role);
      else pdf.addStructure(role);
      role.end();
    },
    finish: () => fonts.write(),
  };
}

/** @returns the share of the free space of a line that is on its left */
function shareBefore({ align = 'middle' }: Box, language: string): number {
  if (align === 'middle') return 1 / 2;
  return (align === 'start') === (directionOf(language) === 'ltr') ? 0 : 1;
}

/** Converts the text to form NFC, which fonts expect, and removes line separators. */
function inOneParagraph(written: string): string {
  return written
    .normalize('NFC')
    .replaceAll(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
}

/** @returns a size at which the lines fit, or the smallest size */
function fit(
  prepared: PreparedText,
  { width, height, largest, keepsSize = false }: Box,
): { size: number; lines: Line[] } {
  const whole = shapeLine(prepared, 0, prepared.text.length).width;
  const fitting = Math.min(largest, width / whole);
  const least = largest * (keepsSize ? 1 : shrinks);
  let size = Math.max(fitting, least);
  for (;;) {
    const lines =
      size * whole <= width * 1.001 ? [{ from: 0, to: prepared.text.length }] : breakIntoLines(prepared, width / size);
    if (size <= smallest || lines.length * size * heightOf(prepared) <= height) return { size, lines };
    size = Math.max(smallest, size - 0.5);
  }
}

/** Returns the ascent above the baseline, in ems. */
function ascentOf({ runs }: PreparedText): number {
  return Math.max(...runs.map(({ font }) => font.font.hExtents().ascender / font.unitsPerEm));
}

/** Returns the height of a line, in ems. */
function heightOf(prepared: PreparedText): number {
  const { runs } = prepared;
  const descent = Math.max(...runs.map(({ font }) => -font.font.hExtents().descender / font.unitsPerEm));
  return ascentOf(prepared) + descent;
}

/** @param at the start of the line on its baseline */
function drawGlyphs(
  pdf: PDFKit.PDFDocument,
  fontOf: (glyph: PlacedGlyph) => EmbeddedFont,
  glyphs: readonly PlacedGlyph[],
  at: { x: number; y: number; size: number },
): void {
  for (const glyph of glyphs) if (glyph.text === '') drawOutline(pdf, glyph, at);
  // Turns the page's coordinates, so that the text is upright.
  pdf.save().transform(1, 0, 0, -1, 0, pdf.page.height);
  const textGlyphs = glyphs.filter(({ text }) => text !== '');
  const runs: PlacedGlyph[][] = [];
  for (const glyph of textGlyphs) {
    const run = runs.at(-1);
    const before = run?.at(-1);
    if (run && before && before.run === glyph.run && before.y === glyph.y) run.push(glyph);
    else runs.push([glyph]);
  }
  for (const run of runs) {
    const [first] = run;
    if (first) drawRun(pdf, fontOf(first), run, at);
  }
  pdf.restore();
}

/**
 * Draws a part of a letter, such as a dot, as an outline and not as text. PDF readers already find the characters in another glyph, and
 * must not find them twice.
 */
function drawOutline(
  pdf: PDFKit.PDFDocument,
  { font, glyph, x, y }: PlacedGlyph,
  at: { x: number; y: number; size: number },
): void {
  const outline = font.font.glyphToPath(glyph);
  if (outline === '') return;
  const scale = at.size / font.unitsPerEm;
  pdf
    .save()
    .translate(at.x + x * at.size, at.y - y * at.size)
    .scale(scale, -scale)
    .path(outline)
    .fill()
    .restore();
}

function drawRun(
  pdf: PDFKit.PDFDocument,
  font: EmbeddedFont,
  glyphs: readonly PlacedGlyph[],
  { x, y, size }: { x: number; y: number; size: number },
): void {
  const [start] = glyphs;
  if (!start) return;
  let pen = start.x;
  const runParts: string[] = [];
  for (const { glyph, text, width, x: at } of glyphs) {
    const back = Math.round((pen - at) * 1_000);
    const code = `<${hex(font.codeOf(glyph, text, width))}>`;
    if (back !== 0) runParts.push(String(back));
    runParts.push(code);
    pen = (back === 0 ? pen : at) + Math.round(width * 1_000) / 1_000;
  }
  pdf.addContent('BT');
  pdf.addContent(`1 0 0 1 ${round(x + start.x * size)} ${round(pdf.page.height - y + start.y * size)} Tm`);
  pdf.addContent(`/${font.id} ${round(size)} Tf`);
  pdf.addContent(`[${runParts.join(' ').replaceAll('> <', '')}] TJ`);
  pdf.addContent('ET');
}

const round = (points: number): string => String(Math.round(points * 1_000) / 1_000);

/** Draws a thin line, like a line for handwriting. */
export function drawLine(pdf: PDFKit.PDFDocument, x: number, y: number, length: number): void {
  pdf
    .lineWidth(0.6)
    .moveTo(x, y)
    .lineTo(x + length, y)
    .stroke(paint.soft);
}
