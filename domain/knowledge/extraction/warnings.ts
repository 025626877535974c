/** What of a file could not be read: told with the source, so that nobody takes silence for completeness. */

/** The first is told for pages without text alone. Codes stay; new ones may come. */
export const sourceWarningCodes = [
  /** A page, or a slide, that shows something and has no letters: scanned paper. */
  'page_is_a_picture',
  /** A picture beside the text that has no alternative text. */
  'picture_without_text',
  /** A part that is there and was not read: an embedded document, a drawing, a chart without stored values, a broken part. */
  'part_skipped',
  /** A part that opens by a password alone. */
  'part_encrypted',
  /** Letters of which the file does not say which ones they are. */
  'letters_unmapped',
  /** Text that people do not see: hidden slides, hidden words. It is left out. */
  'hidden_left_out',
] as const;
export type SourceWarningCode = (typeof sourceWarningCodes)[number];

export interface SourceWarning {
  code: SourceWarningCode;
  /** How often. */
  count: number;
  /** Where: pages or slides from 1, each once, in order, at most {@link placesAWarning}. Empty for what has no pages. */
  pages: number[];
}

const placesAWarning = 100;

export class Warnings {
  readonly #found = new Map<SourceWarningCode, { count: number; pages: Set<number> }>();

  /** @param page null for what has no pages */
  add(code: SourceWarningCode, page: number | null): void {
    const found = this.#found.get(code) ?? { count: 0, pages: new Set() };
    found.count += 1;
    if (page !== null && found.pages.size < placesAWarning) found.pages.add(page);
    this.#found.set(code, found);
  }

  all(): SourceWarning[] {
    return sourceWarningCodes.flatMap((code) => {
      const found = this.#found.get(code);
      return found ? [{ code, count: found.count, pages: [...found.pages].toSorted((a, b) => a - b) }] : [];
    });
  }
}
