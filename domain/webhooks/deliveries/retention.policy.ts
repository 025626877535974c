/**
 * The retention times of webhooks (DEL-8). Each number is defined only here. Rows that stay in the database for longer are not shown to
 * anyone.
 */
import { deliveryRules } from './schedule.policy.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export const retentionRules = {
  /** A message's body, from its creation. A delivery expires when its body is deleted. */
  bodyMs: deliveryRules.expiryMs,
  /** An attempt with the start of its response, from its beginning. */
  attemptMs: 30 * dayMs,
  /** A delivery, from its creation. */
  historyMs: 90 * dayMs,
  /** The additional time until bodies are dropped. Clocks differ by less. */
  bodySpareMs: hourMs,
  /**
   * The additional time until deliveries are dropped. Their ids contain the time of their fact, but an outage can delay the fan-out
   * that creates them.
   */
  historySpareMs: 7 * dayMs,
} as const;

/**
 * The maximum difference of two processes' clocks. No attempt began earlier than this before the creation of its delivery, so older
 * partitions need no search.
 */
export const clocksDifferMs = dayMs;

/** Rows that were created at or before these times are past their retention and not shown to anyone. */
export const endOf = {
  bodies: (now: Date) => new Date(now.getTime() - retentionRules.bodyMs),
  attempts: (now: Date) => new Date(now.getTime() - retentionRules.attemptMs),
  history: (now: Date) => new Date(now.getTime() - retentionRules.historyMs),
} as const;
