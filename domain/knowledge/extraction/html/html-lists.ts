/** Computes the numbers of list items as a page shows them. */
import { elementsIn, type HtmlElement } from './html-tree.ts';
import type { Style } from './html-styles.ts';

/** An open list. */
export interface OpenList {
  next: number;
  step: 1 | -1;
  /** Undefined if the items have no numbers. */
  form: ListForm | undefined;
}

type ListForm =
  | 'decimal'
  | 'decimal-leading-zero'
  | 'lower-alpha'
  | 'upper-alpha'
  | 'lower-roman'
  | 'upper-roman'
  | 'lower-greek';

const forms: readonly string[] = [
  'decimal',
  'decimal-leading-zero',
  'lower-alpha',
  'upper-alpha',
  'lower-roman',
  'upper-roman',
  'lower-greek',
] satisfies ListForm[];
const otherNames: Readonly<Record<string, ListForm>> = { 'lower-latin': 'lower-alpha', 'upper-latin': 'upper-alpha' };
const formsOfType: Readonly<Record<string, ListForm>> = {
  '1': 'decimal',
  a: 'lower-alpha',
  A: 'upper-alpha',
  i: 'lower-roman',
  I: 'upper-roman',
};
const bullets: readonly string[] = ['none', 'disc', 'circle', 'square', 'disclosure-open', 'disclosure-closed'];

export function openList(list: HtmlElement, style: Style): OpenList {
  const isReversed = list.tag === 'ol' && list.attributes.has('reversed');
  const start = numberIn(list, 'start');
  const first = start ?? (isReversed ? elementsIn(list).filter(({ tag }) => tag === 'li').length : 1);
  return {
    next: first,
    step: isReversed ? -1 : 1,
    form: formOf(list, style, list.tag === 'ol' ? 'decimal' : undefined),
  };
}

/** @returns the text before the item, such as its number; empty if the item has a bullet or no mark */
export function nextMark(list: OpenList, item: HtmlElement, style: Style): string {
  const number = numberIn(item, 'value') ?? list.next;
  list.next = number + list.step;
  const form = formOf(item, style, list.form);
  return form === undefined ? '' : `${written(number, form)}. `;
}

function formOf({ attributes }: HtmlElement, style: Style, otherwise: ListForm | undefined): ListForm | undefined {
  const byStyle = (style.get('list-style-type') ?? style.get('list-style'))?.value.split(/\s+/) ?? [];
  for (const word of byStyle) {
    if (bullets.includes(word)) return undefined;
    const form = otherNames[word] ?? word;
    if (isForm(form)) return form;
  }
  const type = attributes.get('type')?.trim() ?? '';
  return bullets.includes(type.toLowerCase()) ? undefined : (formsOfType[type] ?? otherwise);
}

function isForm(word: string): word is ListForm {
  return forms.includes(word);
}

function numberIn({ attributes }: HtmlElement, name: string): number | undefined {
  const number = Number.parseInt(attributes.get(name) ?? '', 10);
  return Number.isSafeInteger(number) ? number : undefined;
}

function written(number: number, form: ListForm): string {
  switch (form) {
    case 'decimal-leading-zero':
      return number >= 0 && number < 10 ? `0${number}` : String(number);
    case 'lower-alpha':
      return inLetters(number, 'abcdefghijklmnopqrstuvwxyz');
    case 'upper-alpha':
      return inLetters(number, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ');
    case 'lower-greek':
      return inLetters(number, 'αβγδεζηθικλμνξοπρστυφχψω');
    case 'lower-roman':
      return roman(number).toLowerCase();
    case 'upper-roman':
      return roman(number);
    case 'decimal':
      return String(number);
  }
}

/** Writes a number in letters, as in a, b, … z, aa, ab. Numbers below 1 have no letters, so they are written in digits. */
function inLetters(number: number, letters: string): string {
  let text = '';
  for (let remaining = number; remaining > 0; remaining = Math.floor((remaining - 1) / letters.length))
    text = (letters[(remaining - 1) % letters.length] ?? '') + text;
  return text === '' ? String(number) : text;
}

const romans = [
  ['M', 1_000], ['CM', 900], ['D', 500], ['CD', 400], ['C', 100], ['XC', 90], ['L', 50], ['XL', 40], ['X', 10], ['IX', 9], ['V', 5],
  ['IV', 4], ['I', 1],
] as const; // prettier-ignore

function roman(number: number): string {
  if (number < 1 || number > 3_999) return String(number);
  let remaining = number;
  let text = '';
  for (const [letters, value] of romans) for (; remaining >= value; remaining -= value) text += letters;
  return text;
}
