/** Computes the numbers before the paragraphs of a slide. The file stores only the rules by which PowerPoint counts. */
import { childOf, childrenOf, type XmlElement } from '../../../../../platform/core/text/xml.ts';
import { formatNumber } from '../number-formats.policy.ts';

/** Maps the beginning of the name of a PowerPoint number scheme to the name of the same format in Word. */
const formats: readonly (readonly [string, string])[] = [
  ['alphaLc', 'lowerLetter'],
  ['alphaUc', 'upperLetter'],
  ['romanLc', 'lowerRoman'],
  ['romanUc', 'upperRoman'],
  ['arabicDb', 'decimalFullWidth'],
  ['arabic1', 'arabicAlpha'],
  ['arabic2', 'arabicAbjad'],
  ['arabic', 'decimal'],
  ['circleNum', 'decimalEnclosedCircle'],
  ['ea1Cht', 'taiwaneseCounting'],
  ['ea1', 'chineseCounting'],
  ['thaiAlpha', 'thaiLetters'],
  ['thaiNum', 'thaiNumbers'],
  ['hindiNum', 'hindiNumbers'],
  ['hindiAlpha1', 'hindiConsonants'],
  ['hindiAlpha', 'hindiVowels'],
  ['hebrew', 'hebrew2'],
];
const bullets = new Set(['a:buNone', 'a:buChar', 'a:buBlip', 'a:buAutoNum']);

/** Counts the numbered paragraphs of one text body. */
export class SlideNumbers {
  /** The open list of each level, and the number of its last item. */
  #open: ({ list: string; last: number } | undefined)[] = [];

  /**
   * @param paragraph `a:p` with words
   * @param usual the inherited properties, nearest first
   * @returns the number, followed by a space; empty if the paragraph has no number
   */
  next(paragraph: XmlElement, usual: readonly XmlElement[]): string {
    const level = Number(childOf(paragraph, 'a:pPr')?.attributes['lvl'] ?? '0') || 0;
    const [bullet] = usual.flatMap((one) => [...childrenOf(one)].filter(({ name }) => bullets.has(name)));
    this.#open.length = Math.min(this.#open.length, level + 1);
    if (bullet?.name !== 'a:buAutoNum') {
      this.#open.length = Math.min(this.#open.length, level);
      return '';
    }
    const { type = 'arabicPeriod', startAt = '1' } = bullet.attributes;
    const list = `${type} ${startAt}`;
    const before = this.#open[level];
    const number = before?.list === list ? before.last + 1 : Number(startAt) || 1;
    this.#open[level] = { list, last: number };
    return `${written(number, type)} `;
  }
}

function written(number: number, scheme: string): string {
  const text = formatNumber(number, formats.find(([start]) => scheme.startsWith(start))?.[1] ?? 'decimal');
  if (scheme.endsWith('ParenBoth')) return `(${text})`;
  if (scheme.endsWith('ParenR')) return `${text})`;
  if (scheme.endsWith('Minus')) return `${text}-`;
  return scheme.endsWith('Plain') ? text : `${text}.`;
}
