/** HTML, read out: headings, paragraphs, rows of lists and tables, code. What is no text of the page is passed over. */
import { Parser } from 'htmlparser2';
import type { Paragraph, SectionBuilder } from './sections.ts';

const passedOver = new Set([
  'script', 'style', 'nav', 'title', 'template', 'noscript', 'iframe', 'object', 'svg', 'math', 'canvas', 'audio', 'video',
  'select', 'textarea', 'button',
]); // prettier-ignore

/** What begins and ends a paragraph; whatever else there is stands inside one. */
const blocks = new Set([
  'address', 'article', 'aside', 'blockquote', 'body', 'caption', 'center', 'dd', 'details', 'dialog', 'div', 'dl', 'dt',
  'fieldset', 'figcaption', 'figure', 'footer', 'form', 'header', 'hgroup', 'hr', 'html', 'legend', 'li', 'main', 'menu', 'ol',
  'p', 'pre', 'section', 'summary', 'table', 'tbody', 'td', 'tfoot', 'th', 'thead', 'tr', 'ul',
]); // prettier-ignore

const levelOf = (tag: string) => (/^h[1-6]$/.test(tag) ? Number(tag[1]) : undefined);

/** A list that is open: the number of its next item, where its items have numbers. */
interface OpenList {
  next: number | undefined;
}

/** Reads HTML out into the sections. @throws Unreadable too_large */
export function readHtml(html: string, into: SectionBuilder): void {
  const reader = new HtmlReader(into);
  const parser = new Parser(
    {
      onopentag: (tag, attributes) => reader.open(tag, attributes),
      ontext: (text) => reader.text(text),
      onclosetag: (tag) => reader.close(tag),
    },
    { decodeEntities: true },
  );
  parser.write(html);
  parser.end();
  reader.end();
}

class HtmlReader {
  readonly #into: SectionBuilder;
  readonly #lists: OpenList[] = [];
  /** How many elements are open that are passed over. */
  #passedOver = 0;
  #lines = 0;
  #heading: number | undefined;
  /** Cells of the row that is open; null outside of tables. */
  #cells: string[] | null = null;
  #text: string[] = [];
  /** The number of a list's item, in front of its first words. */
  #mark = '';

  constructor(into: SectionBuilder) {
    this.#into = into;
  }

  open(tag: string, attributes: Record<string, string>): void {
    if (passedOver.has(tag)) this.#passedOver += 1;
    if (this.#passedOver > 0) return;
    if (tag === 'br') return this.text('\n');
    const level = levelOf(tag);
    if (level === undefined && !blocks.has(tag)) return;
    this.#endParagraph();
    this.#heading = level;
    if (tag === 'pre') this.#lines += 1;
    else if (tag === 'ol') this.#lists.push({ next: Number.parseInt(attributes['start'] ?? '1', 10) || 1 });
    else if (tag === 'ul' || tag === 'menu') this.#lists.push({ next: undefined });
    else if (tag === 'li') this.#mark = this.#nextMark();
    else if (tag === 'tr') this.#startRow();
    else if (tag === 'td' || tag === 'th') this.#cells?.push('');
  }

  text(text: string): void {
    if (this.#passedOver === 0) this.#text.push(text);
  }

  close(tag: string): void {
    if (passedOver.has(tag)) {
      this.#passedOver -= 1;
      return;
    }
    if (this.#passedOver > 0 || (levelOf(tag) === undefined && !blocks.has(tag))) return;
    this.#endParagraph();
    if (tag === 'pre') this.#lines -= 1;
    else if (tag === 'ol' || tag === 'ul' || tag === 'menu') this.#lists.pop();
    else if (tag === 'li') this.#mark = '';
    else if (tag === 'tr') this.#endRow();
  }

  end(): void {
    this.#endParagraph();
    this.#endRow();
  }

  #nextMark(): string {
    const list = this.#lists.at(-1);
    if (list?.next === undefined) return '';
    list.next += 1;
    return `${list.next - 1}. `;
  }

  #endParagraph(): void {
    const text = this.#text.join('');
    this.#text = [];
    const level = this.#heading;
    this.#heading = undefined;
    if (text.trim() === '') return;
    if (this.#cells) this.#cells.push(`${this.#cells.pop() ?? ''} ${text.trim()}`);
    else if (level !== undefined) this.#into.heading(level, text);
    else this.#into.paragraph({ text: this.#mark + text, kind: this.#kind() });
    this.#mark = '';
  }

  /** A table inside a cell ends the row around it: its words come before. */
  #startRow(): void {
    this.#endRow();
    this.#cells = [];
  }

  #endRow(): void {
    const cells = (this.#cells ?? []).map((cell) => cell.trim()).filter((cell) => cell !== '');
    this.#cells = null;
    if (cells.length > 0) this.#into.paragraph({ text: cells.join(' | '), kind: 'row' });
  }

  #kind(): Paragraph['kind'] {
    if (this.#lines > 0) return 'lines';
    return this.#lists.length > 0 ? 'row' : 'prose';
  }
}
