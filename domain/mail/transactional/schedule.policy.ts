/** When a transactional mail is tried again: soon at first, for a person waits for it; no longer than its token lasts. */
const minute = 60_000;

/** Waits after attempt 1, 2 …, in milliseconds. After the last attempt the mail is `failed`. */
const mailWaitsMs = [10_000, minute, 5 * minute, 15 * minute, 30 * minute, 60 * minute, 120 * minute] as const;

/** @returns the wait after this many attempts, or undefined after the last */
export function waitAfterMailAttempt(attempts: number): number | undefined {
  return mailWaitsMs[attempts - 1];
}
