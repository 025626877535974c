/** Computes the numbers before the paragraphs of a Word file. The file stores only the rules by which Word counts. */
import { childOf, childrenOf, type XmlElement } from '../../../../../platform/core/text/xml.ts';
import { isOn, numberOf, valueOf, type Styles } from './docx-styles.ts';
import { formatNumber } from '../number-formats.policy.ts';

interface Level {
  start: number;
  format: string;
  /** The first items of the number format `custom`. */
  pattern: string;
  text: string;
  /** Whether the words follow without a space, as in 第一章潮. After a sign, as in `1.`, a space follows. */
  isClose: boolean;
  /**
   * The number of a level. An item of that level, or of a higher level, restarts the count of this level. Levels are counted from 1. 0
   * means that no item restarts the count. Undefined means that an item of any higher level restarts it.
   */
  restart: number | undefined;
  /** Whether each level of the number is written with the digits 0 to 9, as in `1.2`. */
  isDecimal: boolean;
  isHidden: boolean;
  style: string | undefined;
}

interface List {
  /** The name of the list's counter. If two lists have the same counter, the second list continues the count of the first. */
  counter: string;
  levels: ReadonlyMap<number, Level>;
  starts: ReadonlyMap<number, number>;
}

const deepest = 9;

export class Numbering {
  readonly #abstract = new Map<string, XmlElement>();
  readonly #numbers = new Map<string, XmlElement>();
  readonly #lists = new Map<string, List | undefined>();
  readonly #styles: Styles;
  /** The number of the last item of each level, for each counter. */
  readonly #counts = new Map<string, (number | undefined)[]>();
  /** Lists and levels that have used their start value. */
  readonly #begun = new Set<string>();

  constructor(root: XmlElement | undefined, styles: Styles) {
    for (const element of childrenOf(root, 'w:abstractNum'))
      this.#abstract.set(element.attributes['w:abstractNumId'] ?? '', element);
    for (const element of childrenOf(root, 'w:num')) this.#numbers.set(element.attributes['w:numId'] ?? '', element);
    this.#styles = styles;
  }

  /**
   * Counts the paragraph.
   * @returns the number before the paragraph, followed by a space; empty for a bullet; undefined if the paragraph is in no list
   */
  next(properties: XmlElement | undefined): string | undefined {
    const listLevel = this.#styles.listPlace(properties);
    const list = listLevel && this.#listOf(listLevel.list);
    if (!listLevel || !list) return undefined;
    const at = listLevel.level ?? [...list.levels].find(([, { style }]) => style === listLevel.style)?.[0] ?? 0;
    const level = list.levels.get(at);
    if (!level) return undefined;
    const counts = this.#counts.get(list.counter) ?? [];
    this.#counts.set(list.counter, counts);
    const start = list.starts.get(at);
    const isFirst = start !== undefined && !this.#begun.has(`${listLevel.list} ${at}`);
    this.#begun.add(`${listLevel.list} ${at}`);
    counts[at] = isFirst ? start : (counts[at] ?? (start ?? level.start) - 1) + 1;
    for (let below = at + 1; below < deepest; below++)
      if (at < (list.levels.get(below)?.restart ?? below)) counts[below] = undefined;
    return written(level, list, counts, this.#styles.language);
  }

  #listOf(id: string): List | undefined {
    if (!this.#lists.has(id)) this.#lists.set(id, this.#readList(id, 0));
    return this.#lists.get(id);
  }

  #readList(id: string, hops: number): List | undefined {
    const number = this.#numbers.get(id);
    const counter = valueOf(number, 'w:abstractNumId') ?? '';
    const abstract = this.#abstract.get(counter);
    if (!number || !abstract) return undefined;
    // A list may take its levels from a style. This style then refers to a second list.
    const linked = this.#styles.listOfStyle(valueOf(abstract, 'w:numStyleLink') ?? '');
    const base = linked !== undefined && hops < 5 ? this.#readList(linked, hops + 1) : undefined;
    const levels = new Map(base?.levels);
    const starts = new Map<number, number>();
    for (const level of childrenOf(abstract, 'w:lvl')) levels.set(placeOf(level), readLevel(level));
    for (const override of childrenOf(number, 'w:lvlOverride')) {
      const level = childOf(override, 'w:lvl');
      if (level) levels.set(placeOf(override), readLevel(level));
      const start = numberOf(override, 'w:startOverride');
      if (start !== undefined) starts.set(placeOf(override), start);
    }
    return { counter: base?.counter ?? counter, levels, starts };
  }
}

function placeOf(level: XmlElement): number {
  return Number(level.attributes['w:ilvl'] ?? '0');
}

function readLevel(level: XmlElement): Level {
  const format = childOf(level, 'w:numFmt');
  return {
    start: numberOf(level, 'w:start') ?? 0,
    format: format?.attributes['w:val'] ?? 'decimal',
    pattern: format?.attributes['w:format'] ?? '',
    text: valueOf(level, 'w:lvlText') ?? '',
    isClose: valueOf(level, 'w:suff') === 'nothing',
    restart: numberOf(level, 'w:lvlRestart'),
    isDecimal: isOn(childOf(level, 'w:isLgl')),
    isHidden: isOn(childOf(level, 'w:rPr', 'w:vanish')),
    style: valueOf(level, 'w:pStyle'),
  };
}

/** Leaves out a bullet unless it consists of words, such as `Note:`. */
const wordsOfBullet = /\p{L}{2}/u;

function written(level: Level, list: List, counts: readonly (number | undefined)[], language: string): string {
  if (level.isHidden || (level.format === 'bullet' && !wordsOfBullet.test(level.text))) return '';
  const text = level.text.replace(/%([1-9])/g, (_, digit: string) => {
    const at = Number(digit) - 1;
    const one = list.levels.get(at);
    if (!one) return '';
    const number = counts[at] ?? list.starts.get(at) ?? one.start;
    return formatNumber(number, level.isDecimal ? 'decimal' : one.format, { language, pattern: one.pattern });
  });
  if (text.trim() === '') return '';
  return level.isClose && /\p{L}$/u.test(text) ? text : `${text} `;
}
