/**
 * Handles elements that show something other than their inner text (pictures, form fields, formulas), and elements that a page does not
 * show.
 */
import { mathText } from './html-math.ts';
import { elementsIn, hasWord, ownTextOf, textOf, visit, type HtmlElement } from './html-tree.ts';
import type { SectionBuilder } from '../sections.ts';
import { hasWords } from '../text.policy.ts';

type Warned = Pick<SectionBuilder, 'warn'>;

/** Elements that show nothing on the page. */
const silent = new Set([
  'style', 'title', 'nav', 'template', 'noscript', 'noframes', 'noembed', 'datalist', 'rp', 'progress', 'meter', 'map', 'colgroup',
]); // prettier-ignore

/** The content of these elements is left out of the extracted text. */
const unread = new Set(['iframe', 'object', 'embed', 'canvas', 'audio', 'video', 'applet', 'frame']);

/**
 * @returns the words that replace the element and its content; undefined if the element shows its content
 */
export function shownFor(element: HtmlElement, into: Warned): string | undefined {
  const { tag, attributes } = element;
  if (silent.has(tag)) return '';
  if (unread.has(tag)) {
    into.warn('part_skipped');
    return '';
  }
  switch (tag) {
    case 'script':
      return texOf(element);
    case 'img':
      return pictureOf(element, attributes.get('alt'), into);
    case 'svg':
      return drawingOf(element, into);
    case 'math':
      return mathText(element);
    case 'input':
      return fieldOf(element, into);
    case 'select':
      return beside(chosenIn(element).join(', '));
    case 'textarea':
      return beside(textOf(element));
    default:
      // Two kinds of elements only repeat other content of the page, so their text is left out. One is a second form of a formula that also
      // exists as MathML. The other is an arrow that leads from a footnote back to the number of the footnote in the text.
      return hasWord(element, 'class', ['katex-html', 'MathJax_Preview']) || isWayBack(element) ? '' : undefined;
  }
}

const beside = (text: string): string => (text.trim() === '' ? '' : ` ${text} `);

/** Scripts that contain formulas for MathJax in their source form. */
function texOf(script: HtmlElement): string {
  const [type = '', mode = ''] = (script.attributes.get('type') ?? '').split(';');
  if (!/^math\/(?:la)?tex$/i.test(type.trim())) return '';
  const tex = ownTextOf(script).trim();
  return /mode=display/.test(mode) ? ` $$${tex}$$ ` : `$${tex}$`;
}

/** @param words the alternative text; undefined if it is missing; empty if it would only repeat the text of the page */
function pictureOf(picture: HtmlElement, words: string | undefined, into: Warned): string {
  if (words !== undefined && words.trim() !== '') return ` [Picture: ${words.trim()}] `;
  if (words === undefined && !isDecoration(picture)) into.warn('picture_without_text');
  return '';
}

function isDecoration(picture: HtmlElement): boolean {
  const { attributes } = picture;
  const isDot = ['width', 'height'].every((side) => Number.parseInt(attributes.get(side) ?? '2', 10) < 2);
  return isDot || attributes.get('aria-hidden') === 'true' || hasWord(picture, 'role', ['presentation', 'none']);
}

const unseenInDrawings = new Set([
  'defs',
  'symbol',
  'clippath',
  'mask',
  'metadata',
  'style',
  'script',
  'title',
  'desc',
  'pattern',
  'marker',
]);

/** Returns the words inside a drawing, or its alternative text if the drawing has no words. */
function drawingOf(drawing: HtmlElement, into: Warned): string {
  const words: string[] = [];
  visit(drawing, {
    enter({ tag }) {
      if (tag === 'text' || tag === 'foreignobject') words.push(' ');
      return !unseenInDrawings.has(tag);
    },
    text: (text) => void words.push(text),
    leave: () => {},
  });
  const text = words.join('');
  if (hasWords(text)) return beside(text);
  const title = elementsIn(drawing).find(({ tag }) => tag === 'title');
  return pictureOf(drawing, drawing.attributes.get('aria-label') ?? (title && textOf({ ...title, tag: '' })), into);
}

function fieldOf(field: HtmlElement, into: Warned): string {
  const { attributes } = field;
  const value = attributes.get('value') ?? '';
  switch (attributes.get('type')?.toLowerCase() ?? 'text') {
    case 'hidden':
    case 'password':
    case 'color':
    case 'range':
    case 'file':
      return '';
    case 'checkbox':
    case 'radio':
      return attributes.has('checked') ? '[x] ' : '[ ] ';
    case 'image':
      return pictureOf(field, attributes.get('alt'), into);
    default:
      return beside(value === '' ? (attributes.get('placeholder') ?? '') : value);
  }
}

/**
 * Returns the visible options of a list. A drop-down list shows the chosen option, or the first option if none is chosen. A list that is
 * always open shows all options.
 */
function chosenIn(select: HtmlElement): string[] {
  const options: HtmlElement[] = [];
  visit(select, {
    enter(element) {
      if (element.tag === 'option') options.push(element);
      return true;
    },
    text: () => {},
    leave: () => {},
  });
  const { attributes } = select;
  const isOpen = attributes.has('multiple') || Number.parseInt(attributes.get('size') ?? '1', 10) > 1;
  const chosen = options.filter((option) => option.attributes.has('selected'));
  const visibleOptions = isOpen ? options : chosen.length > 0 ? chosen.slice(-1) : options.slice(0, 1);
  return visibleOptions.map((option) => option.attributes.get('label') ?? textOf(option).trim());
}

/** Whether the link leads from a note back to its mark, and has no words. */
function isWayBack(element: HtmlElement): boolean {
  const { tag, attributes, children } = element;
  if (tag !== 'a' || !attributes.get('href')?.startsWith('#') || children.length !== 1) return false;
  const text = ownTextOf(element).trim();
  return /^[\u2191\u21a9\u21b5\u21d1\u2934^]+[\ufe0e\ufe0f]?$/u.test(text);
}

/**
 * Whether the element is the number of a footnote in the text. Such an element has attributes that say so, or is a raised link within the
 * page.
 */
export function isNoteMark(element: HtmlElement): boolean {
  const { tag, attributes, children, parent } = element;
  if (tag === 'sup') return saysNoteMark(element) && elementsIn(element).length === 0;
  if (tag !== 'a') return false;
  if (saysNoteMark(element)) return true;
  const [only, ...others] = children;
  const holdsRaised = typeof only === 'object' && only.tag === 'sup' && others.length === 0;
  return attributes.get('href')?.includes('#') === true && (holdsRaised || parent?.tag === 'sup');
}

function saysNoteMark(element: HtmlElement): boolean {
  return (
    hasWord(element, 'role', ['doc-noteref']) ||
    hasWord(element, 'epub:type', ['noteref']) ||
    hasWord(element, 'class', ['footnote-ref', 'footnoteRef', 'noteref'])
  );
}

/** Whether the raised text is the mark of a note, and nothing else. */
export function isOnlyNoteMark(element: HtmlElement): boolean {
  return elementsIn(element).some(isNoteMark);
}
