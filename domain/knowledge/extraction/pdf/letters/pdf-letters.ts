/** Maps the letters of a PDF's fonts to letters of text. */

export interface FontCodes {
  see: (unicode: string, code: number | undefined) => void;
  /** True if the file does not say which letters the codes of the font mean. */
  readonly isUnmapped: boolean;
}

/** Bullets of the fonts Symbol and Wingdings, which use private code points. */
const symbols = new Map(Object.entries({ '\uF0B7': '•', '\uF0A7': '▪', '\uF06C': '•', '\uF0D8': '➢', '\uF0FC': '✓', '\uF0A8': '☐', '\uF0FE': '☒', '\uF02D': '-', '\uF0E0': '→' })); // prettier-ignore

/** Matches characters that stand for no letter: control characters, the replacement character, and private-use code points. */
const unknown = /[\p{Cc}\p{Co}\uFFFD-\uFFFF]/u;
/** Special forms of other letters: ligatures, forms of Arabic and Hebrew letters, vertical signs, and Chinese radicals. */
const shapes = /[\uFB00-\uFDFF\uFE10-\uFE19\uFE30-\uFE48\uFE70-\uFEFC\u2F00-\u2FD5]/;

/** The letters of TeX's bitmap fonts in the Cork encoding. These fonts have no names for their letters. */
const cork = new Map(Object.entries({ '\u0010': '“', '\u0011': '”', '\u0012': '„', '\u0013': '«', '\u0014': '»', '\u0015': '–', '\u0016': '—', '\u0019': 'ı', '\u001B': 'ff', '\u001C': 'fi', '\u001D': 'fl', '\u001E': 'ffi', '\u001F': 'ffl' })); // prettier-ignore

/**
 * @param isDrawn whether the file itself draws the font's letters (Type 3)
 * @returns the letter or letters that the shape means; undefined if the file does not say it
 */
export function letterOf(unicode: string, isDrawn = false): string | undefined {
  const inTex = isDrawn ? cork.get(unicode) : undefined;
  if (inTex !== undefined) return inTex;
  const symbol = symbols.get(unicode);
  if (symbol !== undefined) return symbol;
  if (/^[\t\n\r]+$/.test(unicode)) return ' ';
  if (unknown.test(unicode)) return undefined;
  return shapes.test(unicode) ? unicode.normalize('NFKC').trimStart() : unicode;
}

/** Matches a letter of a script without spaces between words. Lines in such scripts are joined without a space. */
const unspaced =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\u3000-\u303F\uFF01-\uFF60]/u;
const hangul = /\p{Script=Hangul}/u;

/** True for a script without spaces between words. @param letter one character */
export function isUnspaced(letter: string): boolean {
  return unspaced.test(letter) && !hangul.test(letter);
}

const rightToLeft = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

export function isRightToLeft(text: string): boolean {
  return rightToLeft.test(text) && !/^\p{N}+$/u.test(text);
}

/** A mark is above or below the letter before it. */
export function isMark(text: string): boolean {
  return /^\p{M}+$/u.test(text);
}

/** @param raw a text of a PDF, one character per byte @returns it as letters */
export function textOfString(raw: string): string {
  const bytes = Buffer.from(raw, 'latin1');
  if (raw.startsWith('\u00FE\u00FF')) return new TextDecoder('utf-16be').decode(bytes.subarray(2));
  if (raw.startsWith('\u00FF\u00FE')) return new TextDecoder('utf-16le').decode(bytes.subarray(2));
  if (raw.startsWith('\u00EF\u00BB\u00BF')) return bytes.subarray(3).toString('utf8');
  return raw;
}

/** Matches kana. Small kana above other letters show how to read these letters. */
export function isKana(text: string): boolean {
  return /^[\p{Script=Hiragana}\p{Script=Katakana}ー]+$/u.test(text);
}

export function isHan(text: string): boolean {
  return /\p{Script=Han}/u.test(text);
}
