/** Identifies a file in a worker thread with limits, so that an uploaded file can neither block nor end the process. */
import { moduleAt } from '../../../platform/core/modules.ts';
import { createThreads, type ThreadBounds, type Threads } from '../../../platform/infra/threads/bounded-thread.ts';
import type { Finding } from '../formats/file-content.ts';
import { isImageType } from '../media.policy.ts';
import { identificationRules } from '../processing.policy.ts';
import type { StoredMedia } from '../media.ts';
import type { Piece } from './identification-thread.ts';
import type { Contents } from './contents.ts';

/** @param bounds the limits of a thread. Only tests pass this parameter */
export function identificationThreads(bounds: ThreadBounds = identificationRules): Threads {
  const module = moduleAt('./identification-thread.ts', import.meta.url);
  return createThreads(module, bounds, { uses: identificationRules.filesPerThread });
}

const ofThisProcess = identificationThreads();

class FileGone extends Error {}

/**
 * @param options.signal ends the thread
 * @param options.threads the threads that identify files. Only tests pass this option
 * @returns the properties of the file; undefined if the file no longer exists
 * @throws any error of the store, and the reason with which the signal aborts
 */
export async function identify(
  contents: Pick<Contents, 'read'>,
  { purpose, mime, sizeBytes: size }: Pick<StoredMedia, 'purpose' | 'mime' | 'sizeBytes'>,
  { signal, threads = ofThisProcess }: { signal: AbortSignal; threads?: Threads },
): Promise<Finding | undefined> {
  const sizeBytes = Number(size);
  const announced = mime ?? '';
  try {
    const result = await threads.run<Finding>({
      data: { sizeBytes, purpose, announced },
      signal,
      async answer(question) {
        const { offset, length } = question as Piece;
        const bytes = await contents.read(offset, length);
        if (!bytes) throw new FileGone();
        return new Uint8Array(bytes);
      },
    });
    if (typeof result !== 'string') return result;
  } catch (error) {
    if (error instanceof FileGone) return undefined;
    throw error;
  }
  return { sizeBytes, error: isImageType(announced) ? 'image_broken' : 'content_not_allowed' };
}
