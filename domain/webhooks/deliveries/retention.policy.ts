/** The retention times of webhooks (DEL-8). Each number is defined only here. A row may exist longer, but the API does not show it. */
import { deliveryRules } from './schedule.policy.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export const retentionRules = {
  /** A body is kept for this time after its creation. A pending delivery expires with its body. */
  bodyMs: deliveryRules.expiryMs,
  /** An attempt and its response excerpt are kept for this time after the attempt begins. */
  attemptMs: 30 * dayMs,
  /** A delivery is kept for this time after its creation. */
  historyMs: 90 * dayMs,
  /** The partitions of bodies are dropped this much later, because the clocks of processes differ. */
  bodySpareMs: hourMs,
  /**
   * The partitions of deliveries are dropped this much later. The id of a delivery contains the time of the fact. But after an outage, the
   * fan-out may create the delivery days later.
   */
  historySpareMs: 7 * dayMs,
} as const;

/**
 * The maximum difference between the clocks of two processes. Because of this difference, an attempt may seem to begin up to this long
 * before its delivery was created. Older partitions need not be searched.
 */
export const clocksDifferMs = dayMs;

/** Rows that were created at these times or earlier are not shown to anyone. */
export const endOf = {
  bodies: (now: Date) => new Date(now.getTime() - retentionRules.bodyMs),
  attempts: (now: Date) => new Date(now.getTime() - retentionRules.attemptMs),
  history: (now: Date) => new Date(now.getTime() - retentionRules.historyMs),
} as const;
