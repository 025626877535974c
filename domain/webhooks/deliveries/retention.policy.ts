/** How long webhooks are kept (DEL-8): the numbers, each here and nowhere else. What is kept longer in the database is shown to nobody. */
import { deliveryRules } from './schedule.policy.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export const retentionRules = {
  /** A message's body, from its creation: a delivery expires when it goes. */
  bodyMs: deliveryRules.expiryMs,
  /** An attempt with the start of its response, from its beginning. */
  attemptMs: 30 * dayMs,
  /** A delivery, from its creation. */
  historyMs: 90 * dayMs,
  /** How much later bodies are dropped: clocks differ by less. */
  bodySpareMs: hourMs,
  /** How much later deliveries are dropped: their ids tell when their fact was written, and they were created at its fan-out, which an outage delays. */
  historySpareMs: 7 * dayMs,
} as const;

/** Clocks of two processes differ by less, so no attempt began so long before its delivery was created: older partitions need no look. */
export const clocksDifferMs = dayMs;

/** What was created then or before is past its time: nobody is shown it. */
export const endOf = {
  bodies: (now: Date) => new Date(now.getTime() - retentionRules.bodyMs),
  attempts: (now: Date) => new Date(now.getTime() - retentionRules.attemptMs),
  history: (now: Date) => new Date(now.getTime() - retentionRules.historyMs),
} as const;
