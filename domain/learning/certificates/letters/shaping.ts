/** Shapes text with HarfBuzz: turns characters into glyphs with positions, from left to right. */
import * as hb from 'harfbuzzjs';
import type { Direction } from '../../../language/bidi.policy.ts';
import { inVisualOrder, levelsOf } from './bidi.ts';
import { chooseFonts, replacement, type FontSpan } from './fallback.ts';
import type { Style } from './font-files.ts';
import type { LoadedFont } from './fonts.ts';
import { hanFormOf } from './han-form.ts';
import { scriptOf } from './scripts.ts';

/** A glyph of a line. Measures are in ems, for a font size of 1. */
export interface PlacedGlyph {
  font: LoadedFont;
  run: Run;
  glyph: number;
  /** The distance from the start of the line to the glyph's origin. */
  x: number;
  /** Above the baseline. */
  y: number;
  /** The width in the font, before shaping changes it. */
  width: number;
  /** The characters that the glyph shows, in logical order; empty if earlier glyphs show them all. */
  text: string;
}

/** A part of a text with one font, script and direction. Offsets count UTF-16 units. */
interface Run extends FontSpan {
  script: string | undefined;
  level: number;
}

/** A text with its fonts and directions. */
export interface PreparedText {
  text: string;
  language: string;
  direction: Direction;
  runs: Run[];
}

/** @param text one paragraph in form NFC, with its `direction` */
export async function prepareText(
  text: string,
  { style, language, direction }: { style: Style; language: string; direction: Direction },
): Promise<PreparedText> {
  const spans = await chooseFonts(text, style, hanFormOf(text, language));
  const levels = levelsOf(text, direction);
  const runs: Run[] = [];
  for (const span of spans) {
    const last = runs.at(-1);
    const level = levels[span.start] ?? 0;
    const script = scriptOf(text.slice(span.start, span.end)) ?? last?.script;
    const continues = last && last.font === span.font && last.level === level && !last.isMissing && !span.isMissing;
    if (continues && (last.script === script || last.script === undefined))
      Object.assign(last, { end: span.end, script });
    else runs.push({ ...span, script, level });
  }
  return { text, language, direction, runs };
}

/**
 * @param to without trailing white space
 * @returns the glyphs from left to right, and the width of the line in ems
 */
export function shapeLine(prepared: PreparedText, from: number, to: number): { glyphs: PlacedGlyph[]; width: number } {
  const parts = prepared.runs
    .map((run) => ({ ...run, start: Math.max(run.start, from), end: Math.min(run.end, to) }))
    .filter(({ start, end }) => start < end);
  const glyphs: PlacedGlyph[] = [];
  let x = 0;
  for (const part of inVisualOrder(parts)) x = shapeRun(prepared, part, x, glyphs);
  return { glyphs, width: x };
}

/** All texts share one buffer, because HarfBuzz frees a buffer only when JavaScript collects garbage. */
const buffer = new hb.Buffer();

/** @returns the x coordinate of the end of the run, in ems */
function shapeRun({ text, language }: PreparedText, run: Run, startX: number, into: PlacedGlyph[]): number {
  const { font, start, end, level, isMissing, script } = run;
  buffer.reset();
  // HarfBuzz also gets the letters before and after the run, because these letters decide the form of Arabic letters at the ends of the
  // run.
  if (isMissing) buffer.addText(replacement);
  else buffer.addText(text, start, end - start);
  buffer.setDirection(level % 2 === 1 ? hb.Direction.RTL : hb.Direction.LTR);
  if (script !== undefined) buffer.setScript(script);
  buffer.setLanguage(language);
  buffer.guessSegmentProperties();
  buffer.setFlags(hb.BufferFlag.REMOVE_DEFAULT_IGNORABLES | hb.BufferFlag.DO_NOT_INSERT_DOTTED_CIRCLE);
  hb.shape(font.font, buffer);
  const positions = buffer.getGlyphPositions();
  // A character can have no glyph only if it needs none, such as a filler.
  const shaped = buffer
    .getGlyphInfos()
    .map(({ codepoint, cluster }, index) => ({ glyph: codepoint, cluster: isMissing ? start : cluster, index }))
    .filter(({ glyph }) => glyph !== 0)
    .map(({ index, ...glyph }) => ({ ...glyph, ...(positions[index] ?? nowhere) }));
  const texts = textsOf(shaped, text, run);
  const em = font.unitsPerEm;
  let x = startX;
  for (const [index, { glyph, xAdvance, xOffset, yOffset }] of shaped.entries()) {
    const width = font.font.glyphHAdvance(glyph) / em;
    into.push({ font, run, glyph, x: x + xOffset / em, y: yOffset / em, width, text: texts[index] ?? '' });
    x += xAdvance / em;
  }
  return x;
}

const nowhere = { xAdvance: 0, xOffset: 0, yOffset: 0 } as const;

interface Clustered {
  cluster: number;
  xAdvance: number;
}

/**
 * Divides the characters of each cluster among the glyphs of the cluster. The glyphs in order then contain the whole text. Marks get no
 * characters, because the glyph of their letter has them. In right-to-left text, one glyph gets all characters in reverse order. PDF
 * readers read a line from left to right, and then reverse right-to-left text character by character.
 * @param glyphs the glyphs from left to right
 */
function textsOf(glyphs: readonly Clustered[], text: string, { start, end, level }: Run): string[] {
  const texts: string[] = glyphs.map(() => '');
  const isBackwards = level % 2 === 1;
  const starts = [...new Set(glyphs.map(({ cluster }) => cluster))].toSorted((one, other) => one - other);
  for (const [nth, cluster] of starts.entries()) {
    // Shaping may drop the glyphs of the first characters of a run.
    const letter = text.slice(nth === 0 ? start : cluster, starts[nth + 1] ?? end);
    const clusterGlyphs = [...glyphs.keys()].filter((index) => glyphs[index]?.cluster === cluster);
    const advancing = clusterGlyphs.filter((index) => (glyphs[index]?.xAdvance ?? 0) > 0);
    // Uses form NFD, because a vowel that surrounds its consonant consists of two characters in this form.
    const clusterText = Array.from(advancing.length > Array.from(letter).length ? letter.normalize('NFD') : letter);
    const bearers = (advancing.length > 0 ? advancing : clusterGlyphs).slice(0, isBackwards ? 1 : clusterText.length);
    if (isBackwards) clusterText.reverse();
    for (const [position, index] of bearers.entries()) {
      const isLast = position === bearers.length - 1;
      texts[index] = isLast ? clusterText.slice(position).join('') : (clusterText[position] ?? '');
    }
  }
  return texts;
}
