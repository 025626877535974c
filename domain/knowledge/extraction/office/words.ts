/** The words of a paragraph as its runs come: what is raised or lowered in several runs is one word. */
import dingbats from 'dingbat-to-unicode';
import { lowered, noteMark, raised } from '../raised.policy.ts';

export type Rise = 'up' | 'down';

interface Piece {
  text: string;
  rise?: Rise | undefined;
  /** How the words are read that stand below it: furigana. */
  reading?: string;
}

export class Words {
  #pieces: Piece[] = [];

  add(text: string, rise?: Rise): void {
    if (text === '') return;
    const last = this.#pieces.at(-1);
    if (last && last.rise === rise && last.reading === undefined) last.text += text;
    else this.#pieces.push({ text, rise });
  }

  /** The mark of a note. */
  note(mark: string): void {
    this.add(noteMark(mark));
  }

  /** Words with the reading above them. Those that follow each other are one word. */
  read(text: string, reading: string): void {
    const last = this.#pieces.at(-1);
    if (last?.reading === undefined) this.#pieces.push({ text, reading });
    else {
      last.text += text;
      last.reading += reading;
    }
  }

  hasText(): boolean {
    return this.#pieces.some(({ text }) => text.trim() !== '');
  }

  /** @returns all words, and forgets them. If everything is raised there is nothing that it is raised from. */
  take(): string {
    const pieces = this.#pieces;
    this.#pieces = [];
    const isMixed = pieces.some(({ text, rise }) => rise === undefined && text.trim() !== '');
    return pieces
      .map(({ text, rise, reading }) => {
        if (reading !== undefined) return reading.trim() === '' ? text : `${text}(${reading.trim()})`;
        if (rise === undefined || !isMixed) return text;
        return rise === 'up' ? raised(text) : lowered(text);
      })
      .join('');
  }
}

const symbolFonts = /^(?:symbol|wingdings(?: [23])?|webdings)$/i;
/** Office writes the signs of symbol fonts as letters for private use. */
const privateSigns = /[\uF000-\uF0FF]/g;

/**
 * @param font that the text is shown in
 * @returns the signs that the font shows for the text, as letters; those that nobody knows are left out, with `isWhole` false.
 *   A sign for private use in another font is taken for one of Symbol.
 */
export function signsOf(text: string, font: string): { text: string; isWhole: boolean } {
  let isWhole = true;
  const signOf = (code: number) => {
    const sign = dingbats.codePoint(symbolFonts.test(font) ? font : 'Symbol', code)?.string;
    isWhole &&= sign !== undefined;
    return sign ?? '';
  };
  if (symbolFonts.test(font)) {
    const signs = Array.from(text, (letter) => (letter.trim() === '' ? letter : signOf(codeOf(letter) & 0xff)));
    return { text: signs.join(''), isWhole };
  }
  return { text: text.replace(privateSigns, (letter) => signOf(codeOf(letter) & 0xff)), isWhole };
}

const codeOf = (letter: string) => letter.codePointAt(0) ?? 0;
