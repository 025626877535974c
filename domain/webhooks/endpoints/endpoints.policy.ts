/** The limits of endpoints. Each number is defined only here. */
export const endpointRules = {
  /** The maximum number of endpoints of one club (WEP-5). */
  endpointsPerClub: 20,
  /** In milliseconds. After a rotation, the previous secret also signs for this time (SIG-4). */
  previousSecretMs: 24 * 60 * 60_000,
} as const;
