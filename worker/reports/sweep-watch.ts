/** Watches when a worker, in any process, last completed a round of the sweeper (ENG-5). */
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { lastCompleteRound } from '../../platform/engine/sweeper.ts';

/** A round starts every minute. If no round has been completed for this time, an operator must act. */
const lateAfterMs = 10 * 60_000;
/** The interval of queries to Postgres. While Postgres does not answer, the age of the last known round is reported. */
const queryEveryMs = 30_000;

export interface SweepWatch {
  /** Whether a round was completed in the last 10 minutes. Also true in the first 10 minutes of the process. */
  isInTime(): boolean;
  /** Seconds since the last known complete round; undefined before the first answer. */
  ageSeconds(): number | undefined;
  /** Queries Postgres now. */
  ask(): Promise<void>;
  stop(): void;
}

/** @param clock returns Unix milliseconds */
export function watchSweeps(db: Queries, clock: () => number = () => Date.now()): SweepWatch {
  const startedAt = clock();
  let completedAt: number | undefined;
  const ask = async () => {
    completedAt = (await lastCompleteRound(db).catch(() => undefined))?.getTime() ?? completedAt;
  };
  const asking = setInterval(() => void ask(), queryEveryMs);
  asking.unref();
  void ask();
  return {
    isInTime: () => clock() - Math.max(startedAt, completedAt ?? startedAt) < lateAfterMs,
    ageSeconds: () => (completedAt === undefined ? undefined : Math.max(0, clock() - completedAt) / 1_000),
    ask,
    stop: () => clearInterval(asking),
  };
}
