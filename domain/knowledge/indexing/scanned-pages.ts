/** Reads the scanned pages of a PDF by OCR, after the PDF was read without OCR (ADR 62). */
import { constants } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { SinglePermit } from '../../../platform/engine/single-permit.ts';
import type { Language } from '../../../entities/clubs/values.ts';
import type { OcrProgram } from '../../../platform/infra/programs/ocr-program.ts';
import { inWorkDirectory } from '../../../platform/infra/programs/work-directory.ts';
import type { Extraction, extract } from '../extraction/extraction.ts';
import type { Scanned } from '../extraction/sections.ts';
import { indexingRules } from './indexing.policy.ts';
import { ocrLanguagesOf, ocrRules, pageRanges, withOcr } from './ocr.policy.ts';
import type { SearchedPassage } from './passage-words.policy.ts';

export interface OcrDeps {
  program: OcrProgram;
  /** The languages that OCR recognizes in addition to the club's language, such as `eng+jpn`. */
  furtherLanguages: string | undefined;
  workDirectory: string;
  /** @returns the number of free bytes on the disk of the directory */
  freeBytes: (directory: string) => Promise<number>;
  permit: SinglePermit;
  onOutcome: (outcome: OcrOutcome) => void;
  onFlaw: (flaw: string) => void;
  /** Only tests set them. */
  rules?: Partial<Record<keyof typeof ocrRules, number>>;
}

/**
 * `read`: some pages were read. `failed`: no page was read, because of the file. `unavailable`: the program does not work, or the disk is
 * full.
 */
export type OcrOutcome = 'read' | 'failed' | 'unavailable';

interface Work {
  language: Language;
  /** The number of this attempt of the step, from 1. */
  attempt: number;
  /** @returns undefined if the file was deleted @throws errors of the store */
  load: () => Promise<Uint8Array | undefined>;
  extract: typeof extract;
  signal: AbortSignal;
  /** Receives the progress. */
  tell: (words: string) => void;
}

type Given = Extraction & { scanned: Scanned };

/**
 * @param first the first reading of the file, which remains for all pages that OCR does not read
 * @returns the combined reading. `isUnavailable` means that OCR failed for a reason other than the file, and must be tried again later
 * @throws the reason of the signal, if it ends the work; any error without a fault of the file
 */
export async function readScannedPages(
  ocr: OcrDeps,
  first: Given,
  work: Work,
): Promise<{ reading: Extraction; isUnavailable: boolean }> {
  const outcome = await ocrOf(ocr, first.scanned, work);
  ocr.onOutcome(outcome.result);
  return { reading: reading(first, outcome), isUnavailable: outcome.result === 'unavailable' };
}

interface Outcome {
  result: OcrOutcome;
  passages: SearchedPassage[];
  failed: readonly number[];
}

function reading(first: Given, { passages, failed }: Outcome): Extraction {
  const { scanned } = first;
  const before = first.result === 'read' ? first.passages : [];
  const merged = withOcr({ passages: before, warnings: first.warnings }, scanned.pages, { passages, failed });
  if (merged.passages.length > indexingRules.maxPassages)
    return { result: 'unreadable', code: 'too_large', warnings: merged.warnings };
  return merged.passages.length === 0 && first.result === 'unreadable'
    ? { ...first, warnings: merged.warnings }
    : { result: 'read', pageCount: scanned.pageCount, ...merged };
}

async function ocrOf(ocr: OcrDeps, scanned: Scanned, work: Work): Promise<Outcome> {
  const rules = { ...ocrRules, ...ocr.rules };
  const none = (result: OcrOutcome): Outcome => ({ result, passages: [], failed: scanned.pages });
  if (work.attempt > rules.attempts) return none('failed');
  const languages = ocrLanguagesOf(work.language, ocr.furtherLanguages);
  work.tell('OCR: a check of the program');
  if (!(await isRight(ocr, languages))) return none('unavailable');
  const bytes = await work.load();
  work.signal.throwIfAborted();
  if (!bytes) return none('failed');
  if ((await ocr.freeBytes(ocr.workDirectory)) < bytes.length + rules.reserveBytes) return none('unavailable');
  try {
    return await inWorkDirectory(ocr.workDirectory, async (directory) => {
      await writeFile(path.join(directory, input), bytes, { mode: 0o600 });
      return runs(ocr, scanned, work, { directory, languages, rules });
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return none('unavailable');
    throw error;
  }
}

const input = 'input.pdf';

async function isRight(
  { program, onFlaw }: OcrDeps,
  languages: string,
  options?: { force: boolean },
): Promise<boolean> {
  const flaw = await program.flawFor(languages, options);
  if (flaw !== undefined) onFlaw(flaw);
  return flaw === undefined;
}

interface Place {
  directory: string;
  languages: string;
  rules: Record<keyof typeof ocrRules, number>;
}

/** Runs the program for batches of pages, until the pages or the time end. */
async function runs(ocr: OcrDeps, scanned: Scanned, work: Work, place: Place): Promise<Outcome> {
  const { rules, languages } = place;
  const scannedPages = scanned.pages.slice(0, rules.maxPages);
  const atATime = ocr.program.takesPages ? rules.pagesARun : scannedPages.length;
  const until = performance.now() + rules.timeMs;
  const passages: SearchedPassage[] = [];
  let readTo = 0;
  const failed: number[] = [];
  let isUnavailable = false;
  while (readTo < scannedPages.length && !isUnavailable) {
    const leftMs = until - performance.now();
    if (leftMs < rules.leastMs) break;
    const pages = scannedPages.slice(readTo, readTo + atATime);
    work.tell(`OCR: ${readTo} of ${scannedPages.length} pages`);
    const timeMs = Math.min(leftMs, ocr.program.takesPages ? rules.runMs : rules.timeMs);
    const ocrResult = await runFor(ocr, { ...scanned, pages }, work, { ...place, timeMs });
    if (ocrResult) passages.push(...ocrResult);
    else {
      failed.push(...pages);
      // An update may have broken the OCR program. So the program is checked after a failure. If it does not work, the file is not the
      // cause.
      isUnavailable = !(await isRight(ocr, languages, { force: true }));
    }
    readTo += pages.length;
  }
  failed.push(...scanned.pages.slice(readTo));
  const result = isUnavailable ? 'unavailable' : failed.length < scanned.pages.length ? 'read' : 'failed';
  return { result, passages, failed };
}

/** @returns the passages of these pages; undefined if the pages could not be read */
async function runFor(
  { program }: OcrDeps,
  { pages, pageCount }: Scanned,
  { language, extract: readOut, signal }: Work,
  { directory, languages, timeMs, rules }: Place & { timeMs: number },
): Promise<SearchedPassage[] | undefined> {
  return inWorkDirectory(directory, async (scratch) => {
    const output = path.join(scratch, 'output.pdf');
    const task = { input: path.join(directory, input), output, languages, pages: pageRanges(pages) };
    const outcome = await program.run(task, { directory: scratch, timeMs, signal });
    const bytes = outcome === 'done' ? await readBounded(output, rules.maxOutputBytes) : undefined;
    if (!bytes) return undefined;
    const bounds = { ...indexingRules, extractionMs: rules.extractionMs };
    const source = { kind: 'media', language, bytes, says: 'application/pdf', pages } as const;
    const read = await readOut(source, { onPage: () => undefined, signal, rules: bounds });
    if (read.result === 'unreadable') return read.code === 'no_text' ? [] : undefined;
    if (read.pageCount !== pageCount) return undefined;
    return read.passages;
  });
}

/** @returns undefined if there is no such file, or if the file is too large */
async function readBounded(file: string, mostBytes: number): Promise<Uint8Array | undefined> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => undefined);
  if (!handle) return undefined;
  try {
    const stat = await handle.stat();
    return stat.isFile() && stat.size <= mostBytes ? new Uint8Array(await handle.readFile()) : undefined;
  } finally {
    await handle.close();
  }
}
