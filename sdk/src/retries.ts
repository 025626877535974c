/** Which tries are repeated, and the waits between them (SDK-3). */
import type { ErrorCode } from './generated/client.schemas.ts';
import { defaultRetryOn, sleep } from './generated/runtime/retry.ts';
import type { RetryConfig, RetryContext } from './generated/runtime/types.ts';

/** Milliseconds. Programs that wait for the same rate limit spread over this time after it. */
const spreadMs = 1_000;

export interface RetryOptions {
  /** The number of further tries after the first. */
  readonly retries: number;
  /** The longest `Retry-After` that is waited for, in milliseconds. A longer one ends the call. */
  readonly maxRetryAfterMs: number;
}

/**
 * Decides about retries for the generated part. It repeats GET, PUT, DELETE and requests with an idempotency key. It does so after a lost
 * connection, a timeout, 408, 429 or 5xx, or if the first try still runs on the service. It waits for `Retry-After` and up to a second more.
 * Without `Retry-After`, the wait grows from half a second, with full jitter.
 * @param isStream tells whether an operation answers with a stream, which is never repeated here
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

/** @returns the milliseconds of `Retry-After`, which the service gives in seconds; 0 without one */
export function retryAfterOf(response: { readonly headers: Headers } | undefined): number {
  const seconds = Number(response?.headers.get('retry-after') ?? 0);
  return Number.isFinite(seconds) ? Math.max(0, seconds * 1_000) : 0;
}

/** The first try of a request with an idempotency key may still run when the second arrives. */
async function isStillRunning({ response }: RetryContext): Promise<boolean> {
  if (response?.status !== 409) return false;
  const body = (await response
    .clone()
    .json()
    .catch(() => undefined)) as { error?: { code?: unknown } } | undefined;
  return body?.error?.code === requestInProgress;
}

const requestInProgress: ErrorCode = 'request_in_progress';
