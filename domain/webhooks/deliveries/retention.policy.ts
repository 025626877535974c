/**
 * The retention times of webhooks (DEL-8). Each number is defined only here. A row may stay in the database after its retention time, but
 * the API does not show it any more.
 */
import { deliveryRules } from './schedule.policy.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export const retentionRules = {
  /** The retention time of a message's body, from its creation. A pending delivery expires when its body is deleted. */
  bodyMs: deliveryRules.expiryMs,
  /** The retention time of an attempt and of the excerpt of its response, from the beginning of the attempt. */
  attemptMs: 30 * dayMs,
  /** The retention time of a delivery, from its creation. */
  historyMs: 90 * dayMs,
  /**
   * The additional time until the partitions of bodies are dropped. It is longer than the possible difference between the clocks of
   * processes.
   */
  bodySpareMs: hourMs,
  /**
   * The additional time until the partitions of deliveries are dropped. The id of a delivery contains the time of its fact. After an
   * outage, the fan-out may create the delivery days later, so its partition must stay longer.
   */
  historySpareMs: 7 * dayMs,
} as const;

/**
 * The maximum difference between the clocks of two processes. Because of this difference, an attempt may seem to begin up to this long
 * before its delivery was created. Older partitions need not be searched.
 */
export const clocksDifferMs = dayMs;

/** The times at which the retention ends. Rows that were created at or before these times are not shown to anyone. */
export const endOf = {
  bodies: (now: Date) => new Date(now.getTime() - retentionRules.bodyMs),
  attempts: (now: Date) => new Date(now.getTime() - retentionRules.attemptMs),
  history: (now: Date) => new Date(now.getTime() - retentionRules.historyMs),
} as const;
