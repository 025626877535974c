/** OCR of scanned pages: its bounds, its languages, and what becomes of the first reading of a file (ADR 62). */
import type { Language } from '../../../entities/clubs/values.ts';
import type { SourceWarning } from '../../../entities/knowledge/values.ts';
import { warningOf } from '../extraction/warnings.ts';
import type { SearchedPassage } from './passage-words.policy.ts';

export const ocrRules = {
  /** Pages of a file. Others stay pictures. */
  maxPages: 100,
  /** Pages that a run of the program reads, if its command takes pages: a failure concerns no others, and a claim hears how far it is. */
  pagesARun: 20,
  /** All runs for a file, and the reading of their results: with the first reading, and the store, a step has 10 minutes. */
  timeMs: 360_000,
  /** A run: one that hangs leaves time for others. */
  runMs: 180_000,
  /** No run begins with less time left. */
  leastMs: 10_000,
  /** Of the file that it writes: it is read as a whole. */
  maxOutputBytes: 128 * 1_024 * 1_024,
  /** That must be free on the disk beside the file, before a run begins. */
  reserveBytes: 512 * 1_024 * 1_024,
  /** Reading a result out. */
  extractionMs: 60_000,
  /** Attempts of a step with OCR. A worker that dies of it each time keeps nobody from the first reading. */
  attempts: 2,
  /** A source that OCR could not be tried for, because there was no program or no room, is tried again after this time. */
  againMs: 3_600_000,
} as const;

/** As tesseract names them, by the main language of a tag. */
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

/** @param further such as `eng+jpn` @returns the language of the club, then those of the deployment, each once: `por+eng+jpn` */
export function ocrLanguagesOf(language: Language, further: string | undefined): string {
  return [...new Set([ocrLanguageOf(language), ...(further?.split('+') ?? [])])].join('+');
}

/** The languages of clubs, for a look at the program. */
export const allOcrLanguages = (further: string | undefined): string[] =>
  Object.keys(ocrLanguages).map((language) => ocrLanguagesOf(language, further));

/** @param pages in order @returns such as `1-3,7` */
export function pageRanges(pages: readonly number[]): string {
  const ranges: { from: number; to: number }[] = [];
  for (const page of pages) {
    const last = ranges.at(-1);
    if (last && page === last.to + 1) last.to = page;
    else ranges.push({ from: page, to: page });
  }
  return ranges.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`)).join(',');
}

/** What OCR has come to: passages of pages that it has read, and pages that it has not. Other scanned pages have no words. */
export interface OcrReading {
  passages: readonly SearchedPassage[];
  failed: readonly number[];
}

/**
 * Puts the pages that OCR has read into the first reading, whose own pages stay as they are.
 * @param scanned the pages that are pictures
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
