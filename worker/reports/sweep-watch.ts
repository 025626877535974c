/** When the sweeper last completed a round, in any worker (ENG-5). */
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { lastCompleteRound } from '../../platform/engine/sweeper.ts';

/** Rounds come every minute: so many may fail before an operator must act. */
const lateAfterMs = 10 * 60_000;
/** How often it asks Postgres. Without an answer the last one grows old. */
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
