/** Looking into a file in a thread, within bounds: what somebody uploads neither blocks nor ends the process. */
import { moduleAt } from '../../../platform/core/modules.ts';
import { createThreads, type ThreadBounds, type Threads } from '../../../platform/infra/threads/bounded-thread.ts';
import type { Finding } from '../formats/file-content.ts';
import { identificationRules, isImageType } from '../media.policy.ts';
import type { StoredMedia } from '../media.ts';
import type { Piece } from './identification-thread.ts';
import type { Contents } from './contents.ts';

/** @param bounds others, for tests */
export function identificationThreads(bounds: ThreadBounds = identificationRules): Threads {
  const module = moduleAt('./identification-thread.ts', import.meta.url);
  return createThreads(module, bounds, { uses: identificationRules.filesAThread });
}

const ofThisProcess = identificationThreads();

class FileGone extends Error {}

/**
 * @param options.signal ends the thread
 * @param options.threads others, for tests
 * @returns undefined where the file is gone meanwhile
 * @throws whatever the store throws, and the signal's reason
 */
export async function identify(
  contents: Pick<Contents, 'read'>,
  { purpose, mime, sizeBytes: size }: Pick<StoredMedia, 'purpose' | 'mime' | 'sizeBytes'>,
  { signal, threads = ofThisProcess }: { signal: AbortSignal; threads?: Threads },
): Promise<Finding | undefined> {
  const sizeBytes = Number(size);
  const announced = mime ?? '';
  try {
    const ended = await threads.run<Finding>({
      data: { sizeBytes, purpose, announced },
      signal,
      async answer(question) {
        const { offset, length } = question as Piece;
        const bytes = await contents.read(offset, length);
        if (!bytes) throw new FileGone();
        return new Uint8Array(bytes);
      },
    });
    if (typeof ended !== 'string') return ended;
  } catch (error) {
    if (error instanceof FileGone) return undefined;
    throw error;
  }
  return { sizeBytes, error: isImageType(announced) ? 'image_broken' : 'content_not_allowed' };
}
