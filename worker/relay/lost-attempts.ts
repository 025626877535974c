/** Hands lost direct attempts over to runs (HOOK-18). */
import type { Logger } from 'pino';
import { untilNextLook } from '../../platform/engine/turns.ts';
import { describeError } from '../../platform/infra/describe-error.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { handOverLost } from '../../domain/webhooks/attempts/claims.ts';
import { handedOver } from '../reports/metrics.ts';

/** A relay looks for lost attempts once in so many milliseconds, at most. */
const everyMs = 1_000;

/**
 * Every relay looks, whichever process began the attempts: a process that died, or that now has another lane, does not look any more.
 * @returns the function that looks, unless it did so within the last second; it throws nothing
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
