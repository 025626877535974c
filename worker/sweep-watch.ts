/** Watches the watcher: when the sweeper has last looked at every kind of row, whichever worker it did so in (ENG-5). */
import type { Queries } from '../platform/infra/postgres/database.ts';
import { lastCompleteRound } from '../platform/engine/sweeper.ts';

/** Rounds come every minute: so many may fail, or find Postgres away, before somebody must look. */
const lateAfterMs = 10 * 60_000;
/** How often it asks Postgres; a failure to answer leaves the last answer to grow old. */
const askEveryMs = 30_000;

export interface SweepWatch {
  /** Whether a round was complete within 10 minutes, or this process has not run for longer. */
  isInTime(): boolean;
  /** Seconds since the last complete round, as far as is known; undefined before the first answer. */
  ageSeconds(): number | undefined;
  /** Asks now. */
  ask(): Promise<void>;
  stop(): void;
}

/** @param clock in Unix milliseconds */
export function watchSweeps(db: Queries, clock: () => number = () => Date.now()): SweepWatch {
  const startedAt = clock();
  let completedAt: number | undefined;
  const ask = async () => {
    completedAt = (await lastCompleteRound(db).catch(() => undefined))?.getTime() ?? completedAt;
  };
  const asking = setInterval(() => void ask(), askEveryMs);
  asking.unref();
  void ask();
  return {
    isInTime: () => clock() - Math.max(startedAt, completedAt ?? startedAt) < lateAfterMs,
    ageSeconds: () => (completedAt === undefined ? undefined : Math.max(0, clock() - completedAt) / 1_000),
    ask,
    stop: () => clearInterval(asking),
  };
}
