/** The waits between the attempts of a transactional mail. The first waits are short, because a person waits for the mail. */
const minute = 60_000;

/** The waits after attempt 1, attempt 2 and so on, in milliseconds. If the last attempt fails, the mail is `failed`. */
const mailWaitsMs = [10_000, minute, 5 * minute, 15 * minute, 30 * minute, 60 * minute, 120 * minute] as const;

/** @returns the wait after the attempt with this number, or undefined after the last attempt */
export function waitAfterMailAttempt(attempts: number): number | undefined {
  return mailWaitsMs[attempts - 1];
}
