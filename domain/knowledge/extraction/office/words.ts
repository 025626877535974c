/** Collects the words of a paragraph from its runs. Raised or lowered letters in consecutive runs form one word. */
import dingbats from 'dingbat-to-unicode';
import { lowered, noteMark, raised } from '../raised.policy.ts';

export type Rise = 'up' | 'down';

interface Piece {
  text: string;
  rise?: Rise | undefined;
  /** The reading of the words (furigana). */
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

  note(mark: string): void {
    this.add(noteMark(mark));
  }

  /** Adds words together with the reading (ruby) above them. Consecutive words with readings form one word. */
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

  /** @returns all words since the last call. If all of them are raised, they become normal words */
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
/** Office files contain the signs of symbol fonts as private-use characters. */
const privateSigns = /[\uF000-\uF0FF]/g;

/**
 * @returns the text that a reader sees in this font. A sign that is unknown is left out, and `isWhole` is then false. If the font is not a
 * symbol font, a private-use character is read as a sign of the font Symbol.
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
