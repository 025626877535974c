/** Looking into a file in a thread of its own, within bounds: what somebody uploads neither blocks nor ends the process. */
import { runInThread, type ThreadBounds } from '../../../platform/infra/bounded-thread.ts';
import type { Finding } from '../file-content.ts';
import { identificationRules, isImageType } from '../media.policy.ts';
import type { StoredMedia } from '../media.ts';
import type { IdentificationMessage } from './identification-thread.ts';
import type { Contents } from './contents.ts';

/**
 * @param options.bounds others, for tests
 * @param options.signal ends the thread
 * @returns undefined where the file is gone meanwhile
 * @throws whatever the store throws, and the signal's reason
 */
export async function identify(
  contents: Pick<Contents, 'read'>,
  { purpose, mime, sizeBytes: size }: Pick<StoredMedia, 'purpose' | 'mime' | 'sizeBytes'>,
  { signal, bounds = identificationRules }: { signal: AbortSignal; bounds?: ThreadBounds },
): Promise<Finding | undefined> {
  const sizeBytes = Number(size);
  const announced = mime ?? '';
  const ended = await runInThread<{ finding?: Finding }>(new URL('./identification-thread.ts', import.meta.url), {
    data: { sizeBytes, purpose, announced },
    bounds,
    signal,
    onMessage(told) {
      const message = told as IdentificationMessage;
      if ('tells' in message) return { result: { finding: message.finding } };
      return contents
        .read(message.offset, message.length)
        .then((bytes) => (bytes ? { answer: new Uint8Array(bytes) } : { result: {} }));
    },
  });
  if (typeof ended !== 'string') return ended.finding;
  return { sizeBytes, error: isImageType(announced) ? 'image_broken' : 'content_not_allowed' };
}
