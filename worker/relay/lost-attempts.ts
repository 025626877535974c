/** Hands direct attempts that a process has lost over to runs (HOOK-18). */
import type { Logger } from 'pino';
import { untilNextLook } from '../../platform/engine/turns.ts';
import { describeError } from '../../platform/infra/describe-error.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { handOverLost } from '../../domain/webhooks/attempts/claims.ts';
import { handedOver } from '../reports/metrics.ts';

/** In milliseconds. */
const everyMs = 1_000;

/**
 * Every relay searches for the lost attempts of all processes. A process that is dead, or now uses a different lane, cannot search for the
 * attempts that it lost.
 * @returns a function that searches for lost attempts, but at most once a second; the function never throws
 */
export function createHandOver({
  db,
  log,
  failpoint,
}: {
  db: Database;
  log: Logger;
  failpoint: (name: 'handed_over') => Promise<void>;
}): () => Promise<void> {
  let nextAt = -Infinity;
  return async () => {
    const startedAt = performance.now();
    if (startedAt < nextAt) return;
    nextAt = startedAt + everyMs;
    try {
      const count = await handOverLost(db, new Date());
      nextAt = startedAt + untilNextLook(performance.now() - startedAt);
      if (count === 0) return;
      handedOver.inc(count);
      await failpoint('handed_over');
    } catch (error) {
      log.error({ error: describeError(error) }, 'the relay cannot look for lost direct attempts');
    }
  };
}
