/** Waiting for reserves to settle: while they alone fill a club's budget, it is not spent, and a question is not refused at once (ANS-5). */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Id } from '../../../platform/core/ids.ts';
import { BudgetReserved } from './budget.ts';
import { RefusalToPerson } from '../../language/refusal.ts';

export interface Patience {
  /** So long a question waits. */
  waitMs: number;
  /** Between two tries. */
  everyMs: number;
}

/** Most answers take less; a client's and a proxy's patience last longer. */
const usualPatience: Patience = { waitMs: 10_000, everyMs: 250 };

/** The last in the line of each club in this process: one question of a club tries at a time, the others wait behind it. */
const lines = new Map<Id, Promise<unknown>>();

/**
 * Tries at once, then as often and as long as `patience` says while reserves fill the budget.
 * @param attempt a transaction that leaves nothing behind where it throws
 * @throws DomainError rate_limited when the time is over; what `attempt` throws otherwise
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
    const left = deadline - performance.now();
    if (left <= 0) break;
    await sleep(Math.min(everyMs, left));
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
