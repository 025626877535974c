/** Whether somebody has promoted the build of this process: until then Temporal gives it nothing to do (ENG-19). */
import { isPromoted } from '../../platform/engine/releases.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';

/** A deploy promotes as soon as all queues are polled. */
const patienceMs = 60_000;
/** How often it asks Postgres, until the build is promoted. */
const askEveryMs = 5_000;

export interface PromotionWatch {
  /** False once nobody has promoted the build within a minute of the start. */
  isInTime(): boolean;
  /** Asks now. */
  ask(): Promise<void>;
  stop(): void;
}

/**
 * @param buildId undefined in a checkout: it has work while no build is current
 * @param onLate is called once, when the minute is over
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
  let isTold = false;
  const isInTime = () => promoted || clock() - startedAt < patienceMs;
  const ask = async () => {
    if (promoted) return;
    // Another look may have found it meanwhile.
    if (await isPromoted(db, buildId, new Date(startedAt)).catch(() => false)) promoted = true;
    if (isInTime() || isTold) return;
    isTold = true;
    onLate();
  };
  const asking = setInterval(() => void ask(), askEveryMs);
  asking.unref();
  void ask();
  return { isInTime, ask, stop: () => clearInterval(asking) };
}
