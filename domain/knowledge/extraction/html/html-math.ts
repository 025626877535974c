/** Writes formulas in MathML on one line: `(a+b)/(c)`, `√(x)`, `x²`. */
import { elementsIn, textOf, type HtmlElement } from './html-tree.ts';
import { lowered, raised } from '../raised.policy.ts';

/** Deeper parts of a formula are read as plain letters. */
const deepest = 100;

/** @returns the formula in reading order, or the author's alternative text if the formula has no visible letters */
export function mathText(math: HtmlElement): string {
  const text = row(math, 0).trim();
  return text === '' ? (math.attributes.get('alttext') ?? texOf(math)).trim() : text;
}

function texOf(math: HtmlElement): string {
  const [semantics] = elementsIn(math);
  const note = semantics && elementsIn(semantics).find(({ tag }) => tag === 'annotation');
  return note ? textOf(note) : '';
}

function written(element: HtmlElement, depth: number): string {
  if (depth > deepest) return textOf(element);
  const parts = () => elementsIn(element).map((child) => written(child, depth + 1));
  const [first, second, third] = elementsIn(element);
  const [a = '', b = '', c = ''] = leading.has(element.tag) ? parts() : [];
  switch (element.tag) {
    case 'mi':
    case 'mn':
    case 'mo':
      return textOf(element).trim();
    case 'mtext':
    case 'ms':
      return textOf(element).replace(/\s+/g, ' ');
    case 'mspace':
      return ' ';
    case 'mphantom':
    case 'annotation':
    case 'annotation-xml':
    case 'none':
    case 'mprescripts':
      return '';
    case 'mfrac':
      return isZero(element.attributes.get('linethickness')) ? `(${a} over ${b})` : `(${a})/(${b})`;
    case 'msqrt':
      return `√(${row(element, depth)})`;
    case 'mroot':
      return `${b === '2' ? '' : up(b).replace(/^\^/, '')}√(${a})`;
    case 'msup':
      return whole(first, a) + up(b);
    case 'msub':
      return whole(first, a) + lowered(b);
    case 'msubsup':
      return whole(first, a) + lowered(b) + up(c);
    case 'munder':
      return a + (isLine(second) ? '\u0332' : lowered(b));
    case 'mover':
      return over(a, b);
    case 'munderover':
      return third ? a + lowered(b) + up(c) : a + lowered(b);
    case 'mfenced':
      return fenced(element, parts());
    case 'mtable':
      return `[${parts().join('; ')}]`;
    case 'mtr':
    case 'mlabeledtr':
      return parts().join(', ');
    case 'mmultiscripts':
      return withScripts(element, depth);
    case 'semantics':
    case 'maction':
      return first ? written(first, depth + 1) : '';
    case 'menclose':
      return element.attributes.get('notation') === 'radical' ? `√(${row(element, depth)})` : row(element, depth);
    default:
      return row(element, depth);
  }
}

const leading = new Set(['mfrac', 'mroot', 'msup', 'msub', 'msubsup', 'munder', 'mover', 'munderover']);

function row(element: HtmlElement, depth: number): string {
  return element.children
    .map((child) => (typeof child === 'string' ? child.trim() : written(child, depth + 1)))
    .join('');
}

/** Puts a base of several parts into brackets, so that it stays one unit: `(a+b)²`. */
function whole(element: HtmlElement | undefined, text: string): string {
  const isCompound =
    element?.tag === 'mfrac' || element?.tag === 'msup' || (element?.tag === 'mrow' && elementsIn(element).length > 1);
  return isCompound && !/^[([{|].*[)\]}|]$/su.test(text) ? `(${text})` : text;
}

/** Characters whose normal form already looks raised, such as ′ and °. */
const raisedSigns = /^[′″‴°†'"]+$/u;

function up(text: string): string {
  const letters = raised(text);
  if (letters !== text || text === '' || raisedSigns.test(text)) return letters;
  return Array.from(text).length === 1 ? `^${text}` : `^(${text})`;
}

/** Marks above a letter, with the combining character for each mark. */
const marks: Readonly<Record<string, string>> = {
  '¯': '\u0304', '‾': '\u0304', '_': '\u0304', '―': '\u0304', '→': '\u20D7', '⃗': '\u20D7', '^': '\u0302', 'ˆ': '\u0302', '~': '\u0303',
  '˜': '\u0303', '.': '\u0307', '˙': '\u0307', '¨': '\u0308',
}; // prettier-ignore

function over(base: string, mark: string): string {
  const combining = marks[mark];
  if (combining !== undefined && Array.from(base).length === 1) return base + combining;
  return combining === '\u0304' ? `overline(${base})` : base + up(mark);
}

function isLine(element: HtmlElement | undefined): boolean {
  return element !== undefined && ['_', '̲', '¯', '―'].includes(textOf(element).trim());
}

function isZero(length: string | undefined): boolean {
  return length !== undefined && Number.parseFloat(length) === 0;
}

function fenced({ attributes }: HtmlElement, parts: readonly string[]): string {
  const separators = Array.from((attributes.get('separators') ?? ',').replace(/\s+/g, ''));
  const inside = parts.map((part, at) => (at === 0 ? part : (separators[at - 1] ?? separators.at(-1) ?? '') + part));
  return (attributes.get('open') ?? '(') + inside.join('') + (attributes.get('close') ?? ')');
}

/**
 * Writes the scripts of an element after its base: the first is lowered, the second raised, and so on. Scripts after `mprescripts` come
 * before the base.
 */
function withScripts(element: HtmlElement, depth: number): string {
  const [base, ...scripts] = elementsIn(element);
  const at = scripts.findIndex(({ tag }) => tag === 'mprescripts');
  const text = (some: readonly HtmlElement[]) =>
    some.map((script, place) => (place % 2 === 0 ? lowered : up)(written(script, depth + 1))).join('');
  const behind = text(at < 0 ? scripts : scripts.slice(0, at));
  return (at < 0 ? '' : text(scripts.slice(at + 1))) + (base ? written(base, depth + 1) : '') + behind;
}
