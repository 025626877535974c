/** Runs transcriptions in tests: provides the dependencies of a transcription step, and makes the steps. */
import { fileURLToPath } from 'node:url';
import type { Id } from '../../../platform/core/ids.ts';
import {
  transcribeFile,
  type TranscriptionDeps,
  type TranscriptionStep,
} from '../../../domain/media/transcriptions/step.ts';
import { testDeps } from '../stack/database.ts';
import { testObjectStore } from '../stack/storage.ts';

export const madeVtt = Buffer.from('WEBVTT\n\n00:01.000 --> 00:02.000\nFaça um nó.\n');

const fake = fileURLToPath(new URL('../fakes/speech-program.mjs', import.meta.url));

/** @param mode its behaviour: test/toolkit/fakes/speech-program.mjs */
export const speechCommand = (mode: string): string[] => [
  process.execPath,
  fake,
  mode,
  '{input}',
  '{output}',
  '{language}',
];

/** The speech program writes {@link madeVtt}. */
export async function transcriptionDeps(replaced: Partial<TranscriptionDeps> = {}): Promise<TranscriptionDeps> {
  return {
    db: (await testDeps()).db,
    storage: await testObjectStore(),
    makeSubtitles: async () => ({ vtt: madeVtt }),
    onFault() {},
    onOutcome() {},
    failpoint: async () => {},
    ...replaced,
  };
}

/** One step. */
export async function transcribeOnce(
  mediaId: Id,
  replaced: Partial<TranscriptionDeps> = {},
  { now = Date.now(), stop = new AbortController().signal }: { now?: number; stop?: AbortSignal } = {},
): Promise<TranscriptionStep> {
  return transcribeFile(await transcriptionDeps(replaced), mediaId, now, { beat() {}, stop });
}
