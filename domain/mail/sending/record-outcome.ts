/** Writes what became of a mail that was handed over, also where Postgres is away for a while: nobody else knows it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { sqlStateOf } from '../../../platform/infra/postgres/errors.ts';

/** How long a record is tried. */
const recordLimitMs = 120_000;
/** States of statements that fail however often they are tried: data, constraints, syntax. */
const isOurFault = /^(22|23|42)/;

/**
 * Tries on while Postgres is away.
 * @param record changes nothing where it was committed already
 * @throws the last error, after two minutes or where another try would end alike
 */
export async function recordInTime<T>(record: () => Promise<T>): Promise<T> {
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
