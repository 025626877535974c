/** Lets a question wait while the reserves of running answers fill the budget, until some of these answers have ended (ANS-5). */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Id } from '../../../platform/core/ids.ts';
import { BudgetReserved } from './budget.ts';
import { RefusalToPerson } from '../../language/refusal.ts';

export interface Patience {
  waitMs: number;
  everyMs: number;
}

/** Longer than most answers take, and shorter than clients and proxies wait. */
const usualPatience: Patience = { waitMs: 10_000, everyMs: 250 };

/**
 * For each club, the last question that waits in this process. The questions of a club form a queue, and only the first question tries to
 * reserve the budget.
 */
const lines = new Map<Id, Promise<unknown>>();

/**
 * Runs the attempt immediately, and repeats it while reserves fill the budget.
 * @param attempt the transaction to run. It must write nothing if it throws
 * @throws DomainError rate_limited when the time is over; any other error of `attempt`
 */
export async function whileBudgetIsReserved<T>(
  clubId: Id,
  attempt: () => Promise<T>,
  patience: Patience = usualPatience,
): Promise<T> {
  const deadline = performance.now() + patience.waitMs;
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof BudgetReserved)) throw error;
  }
  const ahead = lines.get(clubId) ?? Promise.resolve();
  const tried = ahead.then(() => tryUntil(deadline, attempt, patience));
  const settled = tried.then(
    () => {},
    () => {},
  );
  lines.set(clubId, settled);
  void settled.then(() => lines.get(clubId) === settled && lines.delete(clubId));
  return tried;
}

async function tryUntil<T>(deadline: number, attempt: () => Promise<T>, { waitMs, everyMs }: Patience): Promise<T> {
  for (;;) {
    const remainingMs = deadline - performance.now();
    if (remainingMs <= 0) break;
    await sleep(Math.min(everyMs, remainingMs));
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof BudgetReserved)) throw error;
    }
  }
  throw new RefusalToPerson('rate_limited', 'refusal.ai_budget_reserved', {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
  });
}
