/** The limits of pending sign-ups (DEC-62). */

const hour = 3_600_000;

export const pendingSignUpRules = {
  /**
   * The maximum number of unconfirmed sign-ups of a club within an hour. People confirm within minutes, so a launch with thousands of
   * sign-ups stays below it, but a script with invented addresses does not.
   */
  anHour: 500,
  /**
   * The maximum number of unconfirmed sign-ups from one network within an hour. It is a tenth of the club's limit, so that one stranger
   * cannot block a club's sign-up for everyone.
   */
  anHourOfNetwork: 50,
  hourMs: hour,
  /** The age at which a pending sign-up is removed. A confirmation link is valid for 24 hours. */
  removedAfterMs: 7 * 24 * hour,
  /** Each sign-up is removed in its own transaction. */
  removedARound: 200,
} as const;
