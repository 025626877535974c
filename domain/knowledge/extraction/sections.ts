/** Defines and builds the sections of files and lessons. A section contains the paragraphs on one page under the same headings. */
import { withoutEnd, withoutEnds } from '../../../platform/core/text/ends.policy.ts';
import type { SourceWarning, SourceWarningCode } from '../../../entities/knowledge/values.ts';
import { Warnings } from './warnings.ts';
import { cleanLine, cleanText, hasWords, lengthOf } from './text.policy.ts';
import { Unreadable } from './unreadable.ts';
import { indexingRules } from '../indexing/indexing.policy.ts';

export interface Paragraph {
  text: string;
  /** `lines` is code with separate lines. `row` is a row of a table or an item of a list, without an empty line before the next row. */
  kind: 'prose' | 'row' | 'lines';
  /** The header of the table, if the paragraph is a row. Each passage with rows begins with it. */
  header?: string;
  /** The time span of the paragraph, if it comes from a video or sound recording. Such a paragraph stays one block. */
  seconds?: Seconds;
}

/** A time span in whole seconds, counted from the beginning of a video or sound recording. */
export interface Seconds {
  from: number;
  to: number;
}

export interface Section {
  /** The number of the page, from 1. Null if the source has no pages. */
  page: number | null;
  /** The headings above the section. The outermost heading is first. */
  headings: string[];
  paragraphs: Paragraph[];
}

export interface ReadOut {
  /** The number of pages. Null if the source has no pages. */
  pageCount: number | null;
  sections: Section[];
  warnings: SourceWarning[];
  /** The pages of a PDF that are pictures, such as scanned paper. */
  scanned?: Scanned;
}

export interface Scanned {
  /** The page numbers of the scanned pages, in order. */
  pages: readonly number[];
  pageCount: number;
}

/** A longer heading counts as a paragraph. */
const longestHeading = 200;

/**
 * Builds sections from headings and paragraphs. A heading without text below it becomes a paragraph, so that a slide with only a title can
 * be found and cited.
 */
export class SectionBuilder {
  readonly #sections: Section[] = [];
  #page: number | null = null;
  #path: { level: number; text: string }[] = [];
  #current: Section | undefined;
  /** The last heading, if no text has followed it yet. */
  #bare: { level: number; section: Section } | undefined;
  #length = 0;
  readonly #warnings = new Warnings();

  /** Records that some content of this page could not be read. */
  warn(code: SourceWarningCode): void {
    this.#warnings.add(code, this.#page);
  }

  /** @returns the warnings by kind. Call this function at the end */
  warnings(): SourceWarning[] {
    return this.#warnings.all();
  }

  pagesWith(code: SourceWarningCode): number[] {
    return this.#warnings.pagesWith(code);
  }

  /** Starts a page. @param keepsHeadings whether the headings of earlier pages apply to this page too */
  startPage(page: number, keepsHeadings: boolean): void {
    this.#closeBare();
    this.#page = page;
    this.#current = undefined;
    if (!keepsHeadings) this.#path = [];
  }

  /** @param level the outermost level is 1 @throws Unreadable too_large */
  heading(level: number, raw: string): void {
    const text = cleanLine(raw);
    if (!hasWords(text)) return;
    if (lengthOf(text) > longestHeading) return this.paragraph({ text, kind: 'prose' });
    this.#count(text);
    if (this.#bare && level <= this.#bare.level) this.#closeBare();
    this.#path = [...this.#path.filter((one) => one.level < level), { level, text }];
    const section = this.#newSection();
    this.#bare = { level, section };
    this.#current = section;
  }

  /** @throws Unreadable too_large */
  paragraph({ text: raw, kind, ...rest }: Paragraph): void {
    const text = kind === 'lines' ? tidyLines(cleanText(raw)) : cleanLine(raw);
    if (text === '') return;
    this.#count(text);
    this.#current ??= this.#newSection();
    this.#current.paragraphs.push({ text, kind, ...rest });
    this.#bare = undefined;
  }

  end(): Section[] {
    this.#closeBare();
    return this.#sections.filter(({ paragraphs }) => paragraphs.length > 0);
  }

  #newSection(): Section {
    const section = { page: this.#page, headings: this.#path.map(({ text }) => text), paragraphs: [] };
    this.#sections.push(section);
    return section;
  }

  #closeBare(): void {
    const { section } = this.#bare ?? {};
    this.#bare = undefined;
    const text = section?.headings.at(-1);
    if (!section || text === undefined) return;
    section.headings.pop();
    section.paragraphs.push({ text, kind: 'prose' });
  }

  #count(text: string): void {
    this.#length += text.length;
    if (this.#length > indexingRules.maxText) throw new Unreadable('too_large');
  }
}

/** Drops trailing white space and empty lines at the ends. Tabs become four spaces, and an indent has at most 40 spaces. */
export function tidyLines(text: string): string {
  const lines = text
    .replaceAll('\t', '    ')
    .replace(/ +/g, (spaces) => spaces.slice(0, 40))
    .replace(/[^\n]+/g, (line) => withoutEnd(line, ' '))
    .replace(/\n{3,}/g, '\n\n');
  return withoutEnds(lines, '\n');
}
