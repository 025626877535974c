/** Reads the headings, paragraphs, list items, tables and code of an HTML text, as people see them on the page. */
import { openList, nextMark, type OpenList } from './html-lists.ts';
import { isNoteMark, isOnlyNoteMark, shownFor } from './html-shown.ts';
import { Styles, type Style } from './html-styles.ts';
import { layoutTables, OpenTable } from './html-tables.ts';
import { ownTextOf, parseHtml, textOf, visit, type HtmlElement, type Visitor } from './html-tree.ts';
import { joinUnspaced } from '../line-breaks.policy.ts';
import { lowered, noteMark, raised } from '../raised.policy.ts';
import type { Paragraph, SectionBuilder } from '../sections.ts';
import { hasWords } from '../text.policy.ts';

/** The elements that begin and end a paragraph. All other elements are inline. */
const blocks = new Set([
  'address', 'article', 'aside', 'blockquote', 'body', 'caption', 'center', 'dd', 'details', 'dialog', 'dir', 'div', 'dl', 'dt',
  'fieldset', 'figcaption', 'figure', 'footer', 'form', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'head', 'header', 'hgroup', 'hr', 'html',
  'legend', 'li', 'listing', 'main', 'menu', 'ol', 'optgroup', 'option', 'p', 'plaintext', 'pre', 'search', 'section', 'summary', 'table',
  'tbody', 'td', 'tfoot', 'th', 'thead', 'tr', 'ul', 'xmp',
]); // prettier-ignore
const keepsLines = new Set(['pre', 'listing', 'plaintext', 'xmp']);
const struckOut = new Set(['s', 'del', 'strike']);

/** The maximum depth of nested inline elements, because a page may nest raised letters to any depth. */
const deepestInline = 20;

/** Extracts the sections of an HTML text. @throws Unreadable too_large */
export function readHtml(html: string, into: SectionBuilder): void {
  const root = parseHtml(html);
  const reader = new HtmlReader(root, into);
  visit(root, reader);
  reader.end();
}

/** Whether text at the current position of the page is visible. */
interface Sight {
  isVisible: boolean;
  /** Letters of size zero are invisible. */
  hasSize: boolean;
  /** Whether the hidden text has already caused a warning. */
  hasWarned: boolean;
}

class HtmlReader implements Visitor {
  readonly #into: SectionBuilder;
  readonly #styles = new Styles();
  readonly #layouts: ReadonlySet<HtmlElement>;
  /** The functions to call at the end of each open element. */
  readonly #ends: (() => void)[] = [];
  readonly #lists: OpenList[] = [];
  /**
   * The tables whose end has not been reached. An entry is undefined if the table only serves for layout, or if it is inside a cell and is
   * read as text.
   */
  readonly #tables: (OpenTable | undefined)[] = [];
  readonly #headings: number[] = [];
  /**
   * Texts that need a change before they are added to the paragraph, such as the text of a cell, or raised letters. The list ends with the
   * innermost text.
   */
  readonly #apart: string[][] = [];
  #paragraph: string[] = [];
  /** The number of the current list item, until its first words are read. */
  #mark = '';
  #sight: Sight = { isVisible: true, hasSize: true, hasWarned: false };
  /** The number of open elements that show line breaks, such as `pre`. */
  #lines = 0;
  #definitions = 0;
  #quotes = 0;
  #struckOut = 0;
  #isStruckOut = false;
  #lastReading = '';

  constructor(root: HtmlElement, into: SectionBuilder) {
    this.#into = into;
    this.#layouts = layoutTables(root);
    visit(root, {
      enter: (element) => {
        if (element.tag === 'style') this.#styles.add(ownTextOf(element));
        return true;
      },
      text: () => {},
      leave: () => {},
    });
  }

  enter(element: HtmlElement): boolean {
    const style = this.#styles.of(element);
    if (isHidden(element, style)) {
      if (hasWords(textOf(element))) this.#into.warn('hidden_left_out');
      return false;
    }
    const replacement = shownFor(element, this.#isSeen() ? this.#into : { warn: () => {} });
    if (replacement !== undefined) {
      this.#addIfSeen(replacement);
      return false;
    }
    const level = headingLevel(element);
    const isBlock = level !== undefined || blocks.has(element.tag);
    if (isBlock) this.#endParagraph();
    const endLook = this.#look(style);
    const end = isBlock ? this.#beginBlock(element, style, level) : this.#beginInline(element);
    this.#ends.push(() => {
      end?.();
      endLook?.();
    });
    return true;
  }

  text(text: string, { tag }: HtmlElement): void {
    // Line breaks around the parts of a ruby text are not visible.
    this.#addIfSeen(tag === 'ruby' || tag === 'rb' ? withoutOuterBreaks(text) : text);
  }

  leave(): void {
    this.#ends.pop()?.();
  }

  end(): void {
    this.#endParagraph();
  }

  #isSeen(): boolean {
    return this.#sight.isVisible && this.#sight.hasSize;
  }

  #addIfSeen(text: string): void {
    if (this.#isSeen()) this.#add(text);
    else if (!this.#sight.hasWarned && hasWords(text)) {
      this.#sight.hasWarned = true;
      this.#into.warn('hidden_left_out');
    }
  }

  /** Applies the style to the content of the element. */
  #look(style: Style): (() => void) | undefined {
    if (style.size === 0) return undefined;
    const before = this.#sight;
    const isVisible = isVisibleBy(style.get('visibility')?.value, before.isVisible);
    const hasSize = hasSizeBy(style.get('font-size')?.value, before.hasSize);
    if (isVisible !== before.isVisible || hasSize !== before.hasSize)
      this.#sight = { isVisible, hasSize, hasWarned: false };
    const lines = /^(?:pre|break-spaces)/.test(style.get('white-space')?.value ?? '') ? 1 : 0;
    const line = style.get('text-decoration-line') ?? style.get('text-decoration');
    const levels = line?.value.includes('line-through') ? 1 : 0;
    this.#lines += lines;
    this.#struckOut += levels;
    return () => {
      this.#sight = before;
      this.#lines -= lines;
      if (levels > 0) this.#endStruckOut(levels);
    };
  }

  /** @returns the function that ends the element */
  #beginInline(element: HtmlElement): (() => void) | undefined {
    const { tag, parent } = element;
    if (isNoteMark(element)) return this.#setApart(noteMark);
    switch (tag) {
      case 'br':
        this.#add('\u2028');
        return undefined;
      case 'sup':
        return isOnlyNoteMark(element) || (parent && isNoteMark(parent)) ? undefined : this.#setApart(raised);
      case 'sub':
        return this.#setApart(lowered);
      case 'rt':
        return this.#setApart((text) => this.#reading(text.trim()));
      case 'q':
        this.#add(this.#quotes % 2 === 0 ? '“' : '‘');
        this.#quotes += 1;
        return () => {
          this.#quotes -= 1;
          this.#add(this.#quotes % 2 === 0 ? '”' : '’');
        };
      case 'button':
        this.#add(' ');
        return () => this.#add(' ');
      default:
        if (!struckOut.has(tag)) return undefined;
        this.#struckOut += 1;
        return () => this.#endStruckOut(1);
    }
  }

  #beginBlock(element: HtmlElement, style: Style, level: number | undefined): () => void {
    const end = this.#beginInside(element, style);
    if (level !== undefined) this.#headings.push(level);
    return () => {
      this.#endParagraph();
      if (level !== undefined) this.#headings.pop();
      end?.();
    };
  }

  #beginInside(element: HtmlElement, style: Style): (() => void) | undefined {
    const { tag } = element;
    if (keepsLines.has(tag)) {
      this.#lines += 1;
      return () => void (this.#lines -= 1);
    }
    switch (tag) {
      case 'ol':
      case 'ul':
      case 'menu':
      case 'dir':
        this.#lists.push(openList(element, style));
        return () => void this.#lists.pop();
      case 'li':
        this.#beginItem(element, style);
        return () => void (this.#mark = '');
      case 'dl':
        this.#definitions += 1;
        return () => void (this.#definitions -= 1);
      case 'table':
        return this.#beginTable(element);
      case 'caption':
      case 'tr':
      case 'td':
      case 'th':
        return this.#beginPartOfTable(element);
      default:
        return undefined;
    }
  }

  #beginItem(item: HtmlElement, style: Style): void {
    const list = this.#lists.at(-1);
    if (!list) return;
    const mark = nextMark(list, item, style);
    if (this.#apart.length > 0) this.#add(mark);
    else this.#mark = mark;
  }

  #beginTable(element: HtmlElement): () => void {
    const isText = this.#layouts.has(element) || this.#apart.length > 0;
    this.#tables.push(isText ? undefined : new OpenTable());
    return () => this.#tables.pop()?.end(this.#into);
  }

  #beginPartOfTable(element: HtmlElement): (() => void) | undefined {
    const table = this.#tables.at(-1);
    if (!table) return undefined;
    if (element.tag === 'tr') {
      table.row(element);
      return undefined;
    }
    return this.#setApart((text) => {
      const words = joinUnspaced(text);
      if (element.tag === 'caption') this.#into.paragraph({ text: words, kind: 'row' });
      else table.cell(element, words);
      return '';
    });
  }

  /**
   * @returns a ruby reading in brackets. The brackets follow the letters of the reading. If a reading continues the reading before it, both
   * are in the same brackets
   */
  #reading(text: string): string {
    if (text === '') return '';
    const around = this.#apart.at(-1) ?? this.#paragraph;
    if (this.#lastReading !== '' && around.at(-1) === this.#lastReading) around.pop();
    else this.#lastReading = '()';
    return (this.#lastReading = `${this.#lastReading.slice(0, -1)}${text})`);
  }

  #setApart(written: (text: string) => string): (() => void) | undefined {
    if (this.#apart.length > deepestInline) return undefined;
    this.#apart.push([]);
    return () => {
      this.#endStruckOut(0);
      const text = written(this.#apart.pop()?.join('') ?? '');
      if (text !== '') this.#put(text);
    };
  }

  #add(text: string): void {
    if (this.#struckOut > 0 && !this.#isStruckOut && text.trim() !== '') {
      this.#isStruckOut = true;
      this.#put('~~');
    }
    if (text !== '') this.#put(text);
  }

  #put(text: string): void {
    (this.#apart.at(-1) ?? this.#paragraph).push(text);
  }

  /** @param levels the number of nested struck-out elements that end at this position */
  #endStruckOut(levels: number): void {
    this.#struckOut -= levels;
    if (!this.#isStruckOut) return;
    this.#isStruckOut = false;
    this.#put('~~');
  }

  #endParagraph(): void {
    this.#endStruckOut(0);
    if (this.#apart.length > 0) return this.#put(' ');
    const text = this.#paragraph.join('');
    this.#paragraph = [];
    if (text.trim() === '') return;
    const level = this.#headings.at(-1);
    const kind = this.#kind();
    const words = this.#mark + (kind === 'lines' ? text : joinUnspaced(text));
    this.#mark = '';
    if (level !== undefined) this.#into.heading(level, words);
    else this.#into.paragraph({ text: words, kind });
  }

  #kind(): Paragraph['kind'] {
    if (this.#lines > 0) return 'lines';
    return this.#lists.length + this.#definitions > 0 ? 'row' : 'prose';
  }
}

/** @returns the level of a heading; undefined for other elements */
function headingLevel({ tag, attributes }: HtmlElement): number | undefined {
  if (/^h[1-6]$/.test(tag)) return Number(tag[1]);
  if (attributes.get('role') !== 'heading') return undefined;
  const level = Number.parseInt(attributes.get('aria-level') ?? '2', 10);
  return level >= 1 ? level : 2;
}

/** Content that appears after a click counts as visible. */
function isHidden({ tag, attributes }: HtmlElement, style: Style): boolean {
  const display = style.get('display')?.value;
  if (display === 'none' || Number.parseFloat(style.get('opacity')?.value ?? '1') === 0) return true;
  if (display !== undefined) return false;
  return attributes.has('hidden') || attributes.has('popover') || (tag === 'dialog' && !attributes.has('open'));
}

function isVisibleBy(visibility: string | undefined, otherwise: boolean): boolean {
  if (visibility === undefined || visibility === 'inherit') return otherwise;
  return visibility !== 'hidden' && visibility !== 'collapse';
}

/** A relative size does not make text of size zero visible. */
function hasSizeBy(size: string | undefined, otherwise: boolean): boolean {
  if (size === undefined || size === 'inherit') return otherwise;
  if (Number.parseFloat(size) === 0) return false;
  return otherwise || !/(?:[^r]em|%)$|er$/.test(size);
}

/** @returns the text without white space at its ends, if this contains a line break */
function withoutOuterBreaks(text: string): string {
  const words = text.trim();
  if (words === '') return '';
  const before = text.slice(0, text.length - text.trimStart().length);
  const after = text.slice(text.trimEnd().length);
  return (before.includes('\n') ? '' : before) + words + (after.includes('\n') ? '' : after);
}
