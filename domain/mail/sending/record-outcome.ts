/**
 * Records the outcome of a hand-over, even after an outage of Postgres. The record must not be lost, because only this process knows the
 * outcome.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { sqlStateOf } from '../../../platform/infra/postgres/errors.ts';

/** The time limit for all tries together. */
const recordLimitMs = 120_000;
/** Errors of data, constraints and syntax (SQL states). A retry would not help. */
const isOurFault = /^(22|23|42)/;

/**
 * Repeats the work while Postgres is not available.
 * @param record a function that does the work. If an earlier call has already committed the work, a further call must change nothing
 * @throws the last error of `record`, if two minutes are over or if a retry cannot succeed
 */
export async function recordWithRetries<T>(record: () => Promise<T>): Promise<T> {
  const until = performance.now() + recordLimitMs;
  for (let waitMs = 100; ; waitMs = Math.min(2 * waitMs, 2_000)) {
    try {
      return await record();
    } catch (error) {
      if (isOurFault.test(sqlStateOf(error) ?? '') || performance.now() > until) throw error;
      await sleep(waitMs);
    }
  }
}
