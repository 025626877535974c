/** The limits of codes to telephone numbers (SES-5, SES-6). The functions are pure. */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

export const phoneCodeRules = {
  /** A code is valid for this long after its request. */
  lifetimeMs: 10 * minute,
  /** The number of wrong codes for each request. */
  tries: 5,
  /** The shortest time between two codes of an administrator. */
  pauseMs: minute,
  /** The period of the limits below. */
  dayMs: 24 * hour,
  /** The number of codes of an administrator in a day, whatever their numbers are. */
  ofAdministrator: 5,
  /** The number of codes to a number in a day, for all administrators together. So many accounts cannot disturb one stranger. */
  ofNumber: 5,
  /** The time limit of an attempt, from the name lookup to the end of the answer. */
  attemptMs: 15 * second,
  /** Longer than any attempt, so that a running worker never loses its lease. */
  leaseSeconds: 25,
  /** Requests are kept this long, because the limits count them. */
  keptMs: 48 * hour,
} as const;

/** The waits after attempt 1, attempt 2 and so on. They are short, because a person waits. */
const waitsMs = [3 * second, 10 * second, 30 * second, minute, 2 * minute] as const;

/** @returns the wait after the attempt with this number, in milliseconds; undefined after the last attempt */
export function waitAfterPhoneAttempt(attempts: number): number | undefined {
  return waitsMs[attempts - 1];
}

/** The codes of the last day, as the limits count them. */
export interface RecentCodes {
  /** The times of the administrator's codes, newest first. */
  ofAdministrator: readonly Date[];
  /** The times of the codes to the number, newest first. */
  ofNumber: readonly Date[];
  /** The times of the newest codes of the whole deployment, newest first, at most as many as the limit of the deployment. */
  ofAll: readonly Date[];
}

/**
 * @param ofAllLimit the limit of the deployment for a day
 * @returns the time at which the next code may be requested; undefined if it may be requested now
 */
export function nextCodeAt(recent: RecentCodes, ofAllLimit: number, now: Date): Date | undefined {
  const { pauseMs, dayMs, ofAdministrator, ofNumber } = phoneCodeRules;
  const freeTimes = [
    endOf(recent.ofAdministrator, 1, pauseMs),
    endOf(recent.ofAdministrator, ofAdministrator, dayMs),
    endOf(recent.ofNumber, ofNumber, dayMs),
    endOf(recent.ofAll, ofAllLimit, dayMs),
  ];
  const latest = Math.max(...freeTimes);
  return latest > now.getTime() ? new Date(latest) : undefined;
}

/** @returns when fewer than `limit` of the times lie in the period, in Unix milliseconds; 0 if this is always true */
function endOf(newestFirst: readonly Date[], limit: number, periodMs: number): number {
  const counted = newestFirst[limit - 1];
  return counted === undefined ? 0 : counted.getTime() + periodMs;
}

/** @returns whether the receiver's answer will not change, so that no further attempt helps */
export function isFinal(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 425 && status !== 429;
}
