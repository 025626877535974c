/** The bounds of pending sign-ups (DEC-62). */

const hour = 3_600_000;

export const pendingSignUpRules = {
  /**
   * Sign-ups of a club within an hour that nobody has confirmed yet. People confirm within minutes, so a launch with thousands
   * of them stays below; a script with invented addresses does not.
   */
  anHour: 500,
  /** Of them from one network: a tenth, so that a stranger does not close the sign-up of a club for everybody else. */
  anHourOfNetwork: 50,
  hourMs: hour,
  /** A pending sign-up is removed so long after it was made. Its last link is good for 24 hours. */
  removedAfterMs: 7 * 24 * hour,
  /** How many one round of the retention removes: each in a transaction of its own. */
  removedARound: 200,
} as const;
