/** Watches whether the build of this process has been promoted. Until the promotion, Temporal gives the process no work (ENG-19). */
import { isPromoted } from '../../platform/engine/releases.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';

/**
 * The time after the start within which the build should be promoted. A deployment promotes a build as soon as its workers poll all queues.
 */
const patienceMs = 60_000;
const queryEveryMs = 5_000;

export interface PromotionWatch {
  /** False if the build was not promoted within a minute of the start. */
  isInTime(): boolean;
  /** Queries Postgres now. */
  ask(): Promise<void>;
  stop(): void;
}

/**
 * @param onLate is called once if the build is not promoted a minute after the start
 * @param clock in Unix milliseconds
 */
export function watchPromotion(
  db: Queries,
  buildId: string | undefined,
  onLate: () => void,
  clock: () => number = () => Date.now(),
): PromotionWatch {
  const startedAt = clock();
  let promoted = false;
  let isReported = false;
  const isInTime = () => promoted || clock() - startedAt < patienceMs;
  const ask = async () => {
    if (promoted) return;
    // If this query fails, `promoted` stays unchanged, because an earlier or simultaneous query may have found the promotion.
    if (await isPromoted(db, buildId, new Date(startedAt)).catch(() => false)) promoted = true;
    if (isInTime() || isReported) return;
    isReported = true;
    onLate();
  };
  const asking = setInterval(() => void ask(), queryEveryMs);
  asking.unref();
  void ask();
  return { isInTime, ask, stop: () => clearInterval(asking) };
}
