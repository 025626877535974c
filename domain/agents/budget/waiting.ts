/**
 * Waits until running answers free their reserves. Reserves may fill a budget that is not spent. The question then waits (ANS-5).
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

/** Most answers take less time than this limit. Clients and proxies wait longer than this limit. */
const usualPatience: Patience = { waitMs: 10_000, everyMs: 250 };

/**
 * The last question in each club's line in this process. Only one question of a club tries at a time. The other questions wait behind it.
 */
const lines = new Map<Id, Promise<unknown>>();

/**
 * Tries immediately. While reserves fill the budget, it tries again with the pauses and the limit of `patience`.
 * @param attempt a transaction that writes nothing if it throws
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
