/** Sets up OCR for tests. A fake program, which has the command line of a real OCR program, replaces the real program. */
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { OcrDeps } from '../../../domain/knowledge/indexing/scanned-pages.ts';
import { createSinglePermit } from '../../../platform/engine/single-permit.ts';
import { ocrProgramAt } from '../../../platform/infra/programs/ocr-program.ts';
import { freeBytes } from '../../../platform/infra/programs/work-directory.ts';

const fake = fileURLToPath(new URL('../fakes/ocr-program.mjs', import.meta.url));

/** @param mode its behaviour: test/toolkit/fakes/ocr-program.mjs */
export const ocrCommand = (mode: string, { takesPages = true } = {}): string[] => [
  process.execPath,
  fake,
  mode,
  '{input}',
  '{output}',
  '{languages}',
  ...(takesPages ? ['{pages}'] : []),
];

/** @param command {@link ocrCommand}, or the command of a real program */
export function ocrDeps(command: readonly string[], changed: Partial<OcrDeps> = {}): OcrDeps {
  const { workDirectory = tmpdir() } = changed;
  return {
    program: ocrProgramAt(command, workDirectory),
    furtherLanguages: undefined,
    workDirectory,
    freeBytes,
    permit: createSinglePermit(),
    onOutcome() {},
    onFlaw() {},
    ...changed,
  };
}
