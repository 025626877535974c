/**
 * Lets a question wait if the reserves of running answers fill a budget that is not spent. The question waits until some of these answers
 * have ended and have released their reserves (ANS-5).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Id } from '../../../platform/core/ids.ts';
import { BudgetReserved } from './budget.ts';
import { RefusalToPerson } from '../../language/refusal.ts';

export interface Patience {
  /** The longest wait of a question. */
  waitMs: number;
  /** The pause between two tries. */
  everyMs: number;
}

/** This limit is longer than most answers take, and shorter than the time for which clients and proxies wait. */
const usualPatience: Patience = { waitMs: 10_000, everyMs: 250 };

/**
 * For each club, the last question that waits in this process. The questions of a club wait in a queue. Only the first question in the
 * queue tries to reserve the budget.
 */
const lines = new Map<Id, Promise<unknown>>();

/**
 * Runs the attempt immediately. If reserves fill the budget, the function repeats the attempt with the pauses and up to the time limit of
 * `patience`.
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
