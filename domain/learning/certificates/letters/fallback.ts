/** Finds the font of each letter. This is the first font whose cmap has all code points of the letter (CERT-4). */
import { familiesIn, isOfPictures, type Family, type HanForm, type Style } from './font-files.ts';
import { hasLetter, loadFont, type LoadedFont } from './fonts.ts';

/** A part of a text that one font draws. Offsets count UTF-16 units. */
export interface FontSpan {
  start: number;
  end: number;
  font: LoadedFont;
  /** No font has this letter, so a box replaces it. */
  isMissing: boolean;
}

/** Replaces a letter that no font has. Every DejaVu font has it. */
export const replacement = '\u25a1';

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** Matches characters that only change the look of other letters, and need no glyph of their own. */
const ignorable = /\p{Default_Ignorable_Code_Point}/u;
/**
 * Matches characters that must be drawn as emoji, because people expect a picture, although some text fonts also contain these characters.
 */
const emojiLike = /\p{Emoji_Presentation}|\p{Emoji}\ufe0f/u;

/**
 * Finds a font for each letter of a text in form NFC.
 * @returns spans that cover the text, in its order
 */
export async function chooseFonts(text: string, style: Style, han: HanForm): Promise<FontSpan[]> {
  const spans: FontSpan[] = [];
  for (const { segment, index } of graphemes.segment(text)) {
    const families = familiesIn(style, han, emojiLike.test(segment));
    const font = await findFont(segment, families, spans.at(-1)?.font);
    if (font) spans.push({ start: index, end: index + segment.length, font, isMissing: false });
    else spans.push(...(await chooseForParts(segment, index, families)));
  }
  return spans;
}

/** No font has the whole letter, so each code point gets its own font. */
async function chooseForParts(segment: string, start: number, families: readonly Family[]): Promise<FontSpan[]> {
  const spans: FontSpan[] = [];
  let at = start;
  for (const character of segment) {
    const end = at + character.length;
    const font = await findFont(character, families, spans.at(-1)?.font);
    spans.push({ start: at, end, font: font ?? (await boxFont(families)), isMissing: font === undefined });
    at = end;
  }
  return spans;
}

/** @param previous the font of the previous letter, also used for characters without a glyph */
async function findFont(
  segment: string,
  families: readonly Family[],
  previous: LoadedFont | undefined,
): Promise<LoadedFont | undefined> {
  const codePoints = Array.from(segment)
    .filter((character) => !ignorable.test(character))
    .map((character) => character.codePointAt(0) ?? 0);
  const [first] = codePoints;
  if (first === undefined) return previous ?? boxFont(families);
  // PDF readers treat neighbouring words of one font as one text, so a space gets the font of the word before it.
  if (previous && segment === ' ' && hasLetter(previous, first) && !isOfPictures(previous.file)) return previous;
  for (const family of families) {
    for (const file of family.filesFor(first)) {
      const font = await loadFont(file);
      if (codePoints.every((codePoint) => hasLetter(font, codePoint))) return font;
    }
  }
  return undefined;
}

async function boxFont(families: readonly Family[]): Promise<LoadedFont> {
  const font = await findFont(replacement, families, undefined);
  if (!font) throw new Error('No font has U+25A1');
  return font;
}
