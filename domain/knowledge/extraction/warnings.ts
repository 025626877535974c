/**
 * Collects warnings about content of a file that could not be read. The warnings are stored with the source, so that administrators know
 * what is missing.
 */

import { sourceWarningCodes, type SourceWarning, type SourceWarningCode } from '../../../entities/knowledge/values.ts';

/** Further positions are only counted. */
const placesAWarning = 100;

export class Warnings {
  readonly #found = new Map<SourceWarningCode, { count: number; pages: Set<number> }>();

  /** @param page the number of the page; null if the source has no pages */
  add(code: SourceWarningCode, page: number | null): void {
    const warning = this.#found.get(code) ?? { count: 0, pages: new Set() };
    warning.count += 1;
    if (page !== null) warning.pages.add(page);
    this.#found.set(code, warning);
  }

  all(): SourceWarning[] {
    return sourceWarningCodes.flatMap((code) => {
      const warning = this.#found.get(code);
      return warning ? [{ ...warningOf(code, this.pagesWith(code)), count: warning.count }] : [];
    });
  }

  pagesWith(code: SourceWarningCode): number[] {
    return [...(this.#found.get(code)?.pages ?? [])].toSorted((a, b) => a - b);
  }
}

/** @param pages in order, each once @returns a warning that counts all pages and lists the first pages */
export function warningOf(code: SourceWarningCode, pages: readonly number[]): SourceWarning {
  return { code, count: pages.length, pages: pages.slice(0, placesAWarning) };
}
