/** Processes a file step by step, as the workflow does. */
import { tmpdir } from 'node:os';
import { components } from '../../../dev/components/catalogue.ts';
import { locate } from '../../../dev/components.ts';
import { createClubPermits } from '../../../platform/engine/club-permits.ts';
import { ffmpegAt } from '../../../platform/infra/video/ffmpeg.ts';
import { freeBytes } from '../../../platform/infra/programs/work-directory.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { MediaDeps } from '../../../domain/media/media.ts';
import { fileReaders } from '../../../domain/media/processing/readers.ts';
import { processFile, type ProcessingDeps, type ProcessingStep } from '../../../domain/media/processing/step.ts';
import { testDeps } from '../stack/database.ts';
import { testObjectStore } from '../stack/storage.ts';

let ffmpeg: Promise<string> | undefined;

export async function processingDeps(changes: Partial<ProcessingDeps> = {}): Promise<ProcessingDeps> {
  return {
    db: (await testDeps()).db,
    storage: await testObjectStore(),
    readers: fileReaders,
    onFault() {},
    onOutcome() {},
    video: {
      ffmpeg: ffmpegAt(await (ffmpeg ??= locate(components.ffmpeg))),
      workDirectory: tmpdir(),
      freeBytes,
      permits: createClubPermits(1),
    },
    failpoint: async () => {},
    ...changes,
  };
}

/** Acts as a worker that is not stopping. */
export const processOnce = (deps: ProcessingDeps, mediaId: Id, at = new Date()): Promise<ProcessingStep> =>
  processFile(deps, mediaId, at.getTime(), { beat() {}, stop: new AbortController().signal });

/** @returns the last step */
export async function processedFile(
  mediaId: Id,
  { deps = {}, at = new Date() }: { deps?: Partial<ProcessingDeps> & Partial<MediaDeps>; at?: Date } = {},
): Promise<ProcessingStep> {
  const all = await processingDeps(deps);
  for (;;) {
    const step = await processOnce(all, mediaId, at);
    if (step.done || step.at > at.getTime()) return step;
  }
}
