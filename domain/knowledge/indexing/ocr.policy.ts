/** Defines the limits and languages of OCR, and combines its result with the first reading of a file (ADR 62). */
import type { Language } from '../../../entities/clubs/values.ts';
import type { SourceWarning } from '../../../entities/knowledge/values.ts';
import { warningOf } from '../extraction/warnings.ts';
import type { SearchedPassage } from './passage-words.policy.ts';

export const ocrRules = {
  /** Further scanned pages stay pictures without text. */
  maxPages: 100,
  /**
   * The number of pages that one run of the OCR program reads, if the program's command accepts page numbers. If such a run fails, only
   * these pages are missing. Small runs also show progress.
   */
  pagesARun: 20,
  /**
   * The time limit for all runs of the OCR program for one file, together with the reading of their results. The whole step may take 10
   * minutes, including the first reading and the transfer from the store.
   */
  timeMs: 360_000,
  /** The time limit for one run of the program. After a run that hangs, enough time remains for other runs. */
  runMs: 180_000,
  /** A run of the program begins only if at least this much time is left. */
  leastMs: 10_000,
  /** The file that the program writes is read as a whole. */
  maxOutputBytes: 128 * 1_024 * 1_024,
  /** The disk space that a run needs beyond the size of the file. */
  reserveBytes: 512 * 1_024 * 1_024,
  extractionMs: 60_000,
  /**
   * The maximum number of attempts with OCR. If OCR has killed the worker in all these attempts, the next attempt works without OCR and
   * stores the result of the first reading.
   */
  attempts: 2,
  /** The wait after the program was missing or the disk was full. */
  againMs: 3_600_000,
} as const;

/** Tesseract's names of languages, by the main language of a language tag. */
const ocrLanguages: Readonly<Record<string, string>> = {
  en: 'eng',
  pt: 'por',
  es: 'spa',
  fr: 'fra',
  de: 'deu',
  it: 'ita',
  ar: 'ara',
};

const ocrLanguageOf = (language: Language) => ocrLanguages[language.split('-')[0] ?? ''] ?? 'eng';

/**
 * @param further the deployment's languages, such as `eng+jpn`
 * @returns the club's language and then the deployment's languages, without repetitions, such as `por+eng+jpn`
 */
export function ocrLanguagesOf(language: Language, further: string | undefined): string {
  return [...new Set([ocrLanguageOf(language), ...(further?.split('+') ?? [])])].join('+');
}

/** The language option of the program for each language that a club can have. A check of the program uses all these options. */
export const allOcrLanguages = (further: string | undefined): string[] =>
  Object.keys(ocrLanguages).map((language) => ocrLanguagesOf(language, further));

/** @param pages the numbers of pages, in order @returns the page ranges, such as `1-3,7` */
export function pageRanges(pages: readonly number[]): string {
  const ranges: { from: number; to: number }[] = [];
  for (const page of pages) {
    const last = ranges.at(-1);
    if (last && page === last.to + 1) last.to = page;
    else ranges.push({ from: page, to: page });
  }
  return ranges.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`)).join(',');
}

/**
 * The result of OCR: the passages of the pages that OCR has read, and the numbers of the pages that OCR could not read. A scanned page
 * without passages and outside the second list has no words.
 */
export interface OcrReading {
  passages: readonly SearchedPassage[];
  failed: readonly number[];
}

/**
 * Adds the pages that OCR has read to the result of the first reading. The pages of the first reading do not change.
 * @param scanned the pages that were pictures
 */
export function withOcr(
  first: { passages: readonly SearchedPassage[]; warnings: readonly SourceWarning[] },
  scanned: readonly number[],
  { passages, failed }: OcrReading,
): { passages: SearchedPassage[]; warnings: SourceWarning[] } {
  const read = new Set(passages.flatMap(({ page }) => page ?? []));
  const all = [...first.passages, ...passages].toSorted((one, other) => (one.page ?? 0) - (other.page ?? 0));
  const pictures = scanned.filter((page) => !read.has(page));
  const others = first.warnings.filter(({ code }) => code !== 'page_is_a_picture');
  const changed = [
    warningOf('page_is_a_picture', pictures),
    warningOf(
      'read_by_ocr',
      scanned.filter((page) => read.has(page)),
    ),
    warningOf('ocr_failed', failed),
  ];
  const [picture, ...rest] = changed.map((warning) => (warning.count > 0 ? [warning] : []));
  return { passages: all, warnings: [...(picture ?? []), ...others, ...rest.flat()] };
}
