/** Decides which requests are repeated, and after which wait (SDK-3). */
import type { ErrorCode } from './generated/client.schemas.ts';
import { defaultRetryOn, sleep } from './generated/runtime/retry.ts';
import type { RetryConfig, RetryContext } from './generated/runtime/types.ts';

/** In milliseconds. Programs that wait for one rate limit spread their requests over this time. */
const spreadMs = 1_000;

export interface RetryOptions {
  /** The number of further tries after the first. */
  readonly retries: number;
  /** In milliseconds. A longer `Retry-After` ends the call. */
  readonly maxRetryAfterMs: number;
}

/**
 * Repeats GET, PUT, DELETE and requests with an idempotency key. It does so after a lost connection, a timeout, 408, 429 or 5xx, or while
 * the first try still runs on the service. It waits for `Retry-After` and up to a second more. Without `Retry-After`, the wait grows from
 * half a
 * second, with full jitter.
 * @param isStream streams are never repeated here
 */
export function retriesOf(options: RetryOptions, isStream: (operation: string) => boolean): RetryConfig {
  return {
    retries: options.retries,
    retryDelay: 500,
    async retryOn(context) {
      if (isStream(context.request.operation.id)) return false;
      const waitMs = retryAfterOf(context.response);
      if (waitMs > options.maxRetryAfterMs) return false;
      if (!defaultRetryOn(context) && !(await isStillRunning(context))) return false;
      if (waitMs > 0) await sleep(Math.random() * spreadMs);
      return true;
    },
  };
}

/** @returns milliseconds; 0 without the header */
export function retryAfterOf(response: { readonly headers: Headers } | undefined): number {
  const seconds = Number(response?.headers.get('retry-after') ?? 0);
  return Number.isFinite(seconds) ? Math.max(0, seconds * 1_000) : 0;
}

/** The first try with this idempotency key may still run when the second arrives. */
async function isStillRunning({ response }: RetryContext): Promise<boolean> {
  if (response?.status !== 409) return false;
  const body = (await response
    .clone()
    .json()
    .catch(() => undefined)) as { error?: { code?: unknown } } | undefined;
  return body?.error?.code === requestInProgress;
}

const requestInProgress: ErrorCode = 'request_in_progress';
