/**
 * Writes equations of office files (OMML) on one line, in reading order: `x=(-b±√(b²-4ac))/(2a)`, `∑_(i=1)^(n) i`. The result has Unicode's
 * linear format, which Word itself reads and writes.
 */
import { childOf, childrenOf, textOf, type XmlElement } from '../../../../platform/core/text/xml.ts';
import { lowered, raised } from '../raised.policy.ts';

/** @param element `m:oMath`, `m:oMathPara`, or any element inside one */
export function equationText(element: XmlElement): string {
  if (element.name === 'm:oMathPara') return [...childrenOf(element, 'm:oMath')].map((one) => inside(one)).join(' ');
  return inside(element);
}

type Form = (element: XmlElement) => string;

/**
 * The functions that write the structures of an equation, by the name of the element. Any other element is written as its content.
 */
const forms: Record<string, Form> = {
  'm:r': letters,
  'm:f': fraction,
  'm:rad': (element) => {
    const degree = isOn(element, 'm:radPr', 'm:degHide') ? '' : part(element, 'm:deg');
    return `${degree === '' ? '' : above(degree)}√(${part(element, 'm:e')})`;
  },
  'm:sSup': (element) => part(element, 'm:e') + above(part(element, 'm:sup')),
  'm:sSub': (element) => part(element, 'm:e') + below(part(element, 'm:sub')),
  'm:sSubSup': (element) => part(element, 'm:e') + below(part(element, 'm:sub')) + above(part(element, 'm:sup')),
  'm:sPre': (element) => below(part(element, 'm:sub')) + above(part(element, 'm:sup')) + part(element, 'm:e'),
  'm:nary': (element) => {
    const sign = property(element, 'm:naryPr', 'm:chr') ?? '∫';
    const from = isOn(element, 'm:naryPr', 'm:subHide') ? '' : limit('_', part(element, 'm:sub'));
    const to = isOn(element, 'm:naryPr', 'm:supHide') ? '' : limit('^', part(element, 'm:sup'));
    return `${sign}${from}${to} ${part(element, 'm:e')}`;
  },
  'm:func': (element) => {
    const argument = part(element, 'm:e');
    return part(element, 'm:fName') + (/^[([{|]/.test(argument) ? '' : ' ') + argument;
  },
  'm:limLow': (element) => part(element, 'm:e') + limit('_', part(element, 'm:lim')),
  'm:limUpp': (element) => part(element, 'm:e') + limit('^', part(element, 'm:lim')),
  'm:d': delimited,
  'm:m': (element) => `[${rowsOf(element)}]`,
  'm:eqArr': (element) => [...childrenOf(element, 'm:e')].map((line) => inside(line).replaceAll('&', '')).join('; '),
  'm:acc': (element) => accented(part(element, 'm:e'), property(element, 'm:accPr', 'm:chr') ?? '\u0302'),
  'm:bar': (element) =>
    accented(part(element, 'm:e'), property(element, 'm:barPr', 'm:pos') === 'top' ? '\u0305' : '\u0332'),
  'm:groupChr': (element) => `${property(element, 'm:groupChrPr', 'm:chr') ?? '⏟'}(${part(element, 'm:e')})`,
  'm:phant': (element) => (property(element, 'm:phantPr', 'm:show') === '0' ? '' : part(element, 'm:e')),
  'w:del': () => '',
  'w:moveFrom': () => '',
};

function inside(element: XmlElement): string {
  return [...childrenOf(element)].map((child) => (forms[child.name] ?? inside)(child)).join('');
}

function part(element: XmlElement, name: string): string {
  const found = childOf(element, name);
  return found ? inside(found) : '';
}

/** Word stores letters such as ℝ as plain letters with a special font style. */
const doubleStruck: Record<string, string> = { C: 'ℂ', H: 'ℍ', N: 'ℕ', P: 'ℙ', Q: 'ℚ', R: 'ℝ', Z: 'ℤ' };

function letters(run: XmlElement): string {
  if (childOf(run, 'w:rPr', 'w:vanish')) return '';
  const text = [...childrenOf(run)].map((child) => (/^[mw]:t$/.test(child.name) ? textOf(child) : '')).join('');
  if (property(run, 'm:rPr', 'm:scr') !== 'double-struck') return text;
  return text.replace(/[CHNPQRZ]/g, (letter) => doubleStruck[letter] ?? letter);
}

function fraction(element: XmlElement): string {
  const sign = property(element, 'm:fPr', 'm:type') === 'noBar' ? '¦' : '/';
  return `(${part(element, 'm:num')})${sign}(${part(element, 'm:den')})`;
}

function delimited(element: XmlElement): string {
  const parts = [...childrenOf(element, 'm:e')].map((one) => {
    const [only, ...others] = [...childrenOf(one)].filter(({ name }) => !name.endsWith('Pr'));
    return only?.name === 'm:m' && others.length === 0 ? rowsOf(only) : inside(one);
  });
  const separator = property(element, 'm:dPr', 'm:sepChr') ?? '|';
  const begin = property(element, 'm:dPr', 'm:begChr') ?? '(';
  return begin + parts.join(separator) + (property(element, 'm:dPr', 'm:endChr') ?? ')');
}

function rowsOf(matrix: XmlElement): string {
  return [...childrenOf(matrix, 'm:mr')]
    .map((row) => [...childrenOf(row, 'm:e')].map((cell) => inside(cell)).join(', '))
    .join('; ');
}

/** The combining characters of accents, which files store as separate signs. */
const combining: Record<string, string> = {
  '^': '\u0302', 'ˆ': '\u0302', '~': '\u0303', '˜': '\u0303', '¯': '\u0305', '‾': '\u0305', '_': '\u0332', '→': '\u20D7',
  '˙': '\u0307', '.': '\u0307', '¨': '\u0308', '`': '\u0300', '´': '\u0301', '˘': '\u0306', 'ˇ': '\u030C',
}; // prettier-ignore

function accented(text: string, sign: string): string {
  const accent = combining[sign] ?? sign;
  return Array.from(text).length === 1 ? text + accent : `(${text})${accent}`;
}

function above(text: string): string {
  return apart(text, raised(text), '^');
}

function below(text: string): string {
  return apart(text, lowered(text), '_');
}

/** A raised or lowered part of an equation has a meaning, so `xᵉ` must not become `xe`, as raised words in normal text may. */
function apart(text: string, formed: string, sign: '^' | '_'): string {
  if (formed !== text || !/[\p{L}\p{N}]/u.test(text)) return formed;
  return sign + (Array.from(text).length === 1 ? text : `(${text})`);
}

function limit(sign: '^' | '_', text: string): string {
  return text === '' ? '' : `${sign}(${text})`;
}

function property(element: XmlElement, properties: string, name: string): string | undefined {
  const found = childOf(element, properties, name);
  return found && (found.attributes['m:val'] ?? '');
}

function isOn(element: XmlElement, properties: string, name: string): boolean {
  const found = childOf(element, properties, name);
  return found !== undefined && !/^(?:0|false|off)$/.test(found.attributes['m:val'] ?? '');
}
