/** Reads charts of office files: their titles, and their stored values as a table. */
import { childOf, childrenOf, descendantsOf, textOf, type XmlElement } from '../../../../platform/core/text/xml.ts';
import type { Block, TableRow } from './blocks.ts';
import { paragraphTextsIn } from './drawing-text.ts';

interface Series {
  name: string;
  /** The name of the category of each value, by the index of the value. */
  categories: ReadonlyMap<number, string>;
  values: readonly ReadonlyMap<number, string>[];
}

/**
 * @param root the root element of a part with a chart. There are two kinds of such parts
 * @returns the blocks of the chart; an empty list if the chart stores no values
 */
export function chartBlocks(root: XmlElement): Block[] {
  const isExtended = root.name === 'cx:chartSpace';
  const chart = childOf(root, isExtended ? 'cx:chart' : 'c:chart');
  const is1904 = /^(?:1|true)$/.test(childOf(root, 'c:date1904')?.attributes['val'] ?? '0');
  const all = isExtended ? extendedSeries(root, chart) : series(chart, is1904);
  const withValues = all.filter(({ values }) => values.some((one) => one.size > 0));
  if (withValues.length === 0) return [];
  const titles = [titleOf(chart), ...axisTitles(chart)].filter((title) => title !== '');
  const [first] = withValues;
  const isOneTable = withValues.every(({ categories }) => isSame(categories, first?.categories ?? new Map()));
  const tables = isOneTable ? [tableOf(withValues)] : withValues.map((one) => tableOf([one]));
  return [...titles.map((text): Block => ({ kind: 'row', text })), ...tables];
}

function titleOf(element: XmlElement | undefined): string {
  const title = childOf(element, 'c:title') ?? childOf(element, 'cx:title');
  const titleTexts = paragraphTextsIn(title);
  if (titleTexts.length > 0) return titleTexts.join(' ');
  return [...descendantsOf(title, 'c:v', 'cx:v')].map((one) => textOf(one)).join(' ');
}

function axisTitles(chart: XmlElement | undefined): string[] {
  const area = childOf(chart, 'c:plotArea') ?? childOf(chart, 'cx:plotArea');
  return [...childrenOf(area)].filter(({ name }) => /^c:.*Ax$|^cx:axis$/.test(name)).map((axis) => titleOf(axis));
}

function series(chart: XmlElement | undefined, is1904: boolean): Series[] {
  const order = (one: XmlElement) => Number(childOf(one, 'c:order')?.attributes['val'] ?? '0');
  return [...descendantsOf(childOf(chart, 'c:plotArea'), 'c:ser')]
    .toSorted((one, other) => order(one) - order(other))
    .map((one) => ({
      name: [...descendantsOf(childOf(one, 'c:tx'), 'c:v')].map((value) => textOf(value)).join(' '),
      categories: points(childOf(one, 'c:cat') ?? childOf(one, 'c:xVal'), is1904),
      values: ['c:val', 'c:yVal', 'c:bubbleSize']
        .flatMap((name) => [...childrenOf(one, name)])
        .map((values) => points(values, is1904)),
    }));
}

/**
 * Reads the points of a series, or of its categories. Categories can have several levels. A name on an outer level applies to all points
 * until the next name on this level.
 */
function points(data: XmlElement | undefined, is1904: boolean): Map<number, string> {
  const levels = [...descendantsOf(data, 'c:lvl')];
  if (levels.length > 0) return acrossLevels(levels.map((level) => pointsIn(level, 'c:pt', '', is1904)));
  const [cache] = descendantsOf(data, 'c:strCache', 'c:strLit', 'c:numCache', 'c:numLit');
  return pointsIn(cache, 'c:pt', textOf(childOf(cache, 'c:formatCode')), is1904);
}

function pointsIn(cache: XmlElement | undefined, name: string, format: string, is1904: boolean): Map<number, string> {
  const found = new Map<number, string>();
  for (const point of childrenOf(cache, name)) {
    const value = childOf(point, 'c:v');
    const own = point.attributes['formatCode'] ?? format;
    found.set(Number(point.attributes['idx'] ?? found.size), formatted(textOf(value ?? point), own, is1904));
  }
  return found;
}

/** @param levels the innermost first */
function acrossLevels([inner = new Map(), ...outer]: Map<number, string>[]): Map<number, string> {
  const words = outer.toReversed().map((level) => ({ level, current: '' }));
  const across = new Map<number, string>();
  for (const [index, text] of inner) {
    for (const one of words) one.current = one.level.get(index) ?? one.current;
    const all = [...words.map(({ current }) => current), text];
    across.set(index, all.filter((word) => word !== '').join(' '));
  }
  return across;
}

function extendedSeries(root: XmlElement, chart: XmlElement | undefined): Series[] {
  const data = new Map(
    [...childrenOf(childOf(root, 'cx:chartData'), 'cx:data')].map((one) => [one.attributes['id'], one]),
  );
  return [...descendantsOf(childOf(chart, 'cx:plotArea'), 'cx:series')].map((one) => {
    const own = data.get(childOf(one, 'cx:dataId')?.attributes['val']);
    const levelsOf = (name: string) =>
      [...childrenOf(own, name)].map((dimension) =>
        [...childrenOf(dimension, 'cx:lvl')].map((level) =>
          pointsIn(level, 'cx:pt', level.attributes['formatCode'] ?? '', false),
        ),
      );
    return {
      name: [...descendantsOf(childOf(one, 'cx:tx'), 'cx:v')].map((value) => textOf(value)).join(' '),
      categories: acrossLevels(levelsOf('cx:strDim')[0] ?? []),
      values: levelsOf('cx:numDim').map((levels) => levels[0] ?? new Map()),
    };
  });
}

function tableOf(all: readonly Series[]): Block {
  const categories = all[0]?.categories ?? new Map<number, string>();
  const places = new Set([
    ...categories.keys(),
    ...all.flatMap(({ values }) => values.flatMap((one) => [...one.keys()])),
  ]);
  const header: TableRow = {
    isHeader: true,
    cells: [{ text: '' }, ...all.flatMap(({ name, values }) => values.map(() => ({ text: name })))],
  };
  const rows = [...places]
    .toSorted((one, other) => one - other)
    .map((place) => ({
      isHeader: false,
      cells: [
        { text: categories.get(place) ?? '' },
        ...all.flatMap(({ values }) => values.map((one) => ({ text: one.get(place) ?? '' }))),
      ],
    }));
  return { kind: 'table', rows: [header, ...rows] };
}

function isSame(one: ReadonlyMap<number, string>, other: ReadonlyMap<number, string>): boolean {
  return one.size === other.size && [...one].every(([place, text]) => other.get(place) === text);
}

const dayMs = 86_400_000;
/** Quoted words, colors and conditions in a number format. */
const besideDigits = /"[^"]{0,99}"|\[[^\][]{0,99}\]|\\./g;

/**
 * @param format Excel's number format, such as `0.0%` or `d/m/yyyy`
 * @returns a percentage with the format's digits, a date as `2027-05-31`, or any other number without rounding errors
 */
function formatted(text: string, format: string, is1904: boolean): string {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number)) return text;
  const shape = format.replace(besideDigits, '').split(';')[0] ?? '';
  if (shape.includes('%')) return `${(number * 100).toFixed(Math.min(decimalsOf(shape), 10))}%`;
  if (/[dy]/i.test(shape) && !/general/i.test(shape)) return dateOf(number, is1904) ?? text;
  return String(Number(number.toPrecision(12)));
}

function decimalsOf(shape: string): number {
  return /\.(0+)/.exec(shape)?.[1]?.length ?? 0;
}

/** Excel counts the days of a date from the end of 1899 or from 1904. */
function dateOf(days: number, is1904: boolean): string | undefined {
  const date = new Date(Date.UTC(is1904 ? 1904 : 1899, is1904 ? 0 : 11, is1904 ? 1 : 30) + Math.floor(days) * dayMs);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString().slice(0, 10);
}
