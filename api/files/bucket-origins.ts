/** Sets the CORS rule of the private bucket. Browsers can then upload from the origins that may call the API (MED-12). */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { describeError } from '../../platform/infra/describe-error.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';

/** In milliseconds. */
const againMs = 60_000;

/** Tries in the background until the store has answered. */
export async function openBucketTo(
  origins: readonly string[],
  storage: Pick<ObjectStore, 'allowOrigins'>,
  log: Pick<Logger, 'info' | 'warn'>,
  stopping: AbortSignal,
): Promise<void> {
  if (origins.length === 0) return;
  for (;;) {
    try {
      const changed = await storage.allowOrigins(origins);
      if (changed) log.info('set a CORS rule of the private bucket for the origins of CORS_ORIGINS');
      return;
    } catch (error) {
      if (stopping.aborted) return;
      const words = { error: describeError(error) };
      if (isRefusal(error))
        return log.warn(
          words,
          'the CORS rules of the private bucket cannot be set: set them by hand, or browsers cannot upload',
        );
      log.warn(words, 'the store does not answer for the CORS rules of the private bucket; the next try follows');
    }
    await sleep(againMs, undefined, { signal: stopping }).catch(() => undefined);
    if (stopping.aborted) return;
  }
}

/** A new try is useless: the key has no permission, the bucket does not exist, or the store has no CORS rules. */
function isRefusal(error: unknown): boolean {
  const { httpStatusCode: status = 0 } = (error as { $metadata?: { httpStatusCode?: number } }).$metadata ?? {};
  return (status >= 400 && status < 500) || status === 501;
}
