/** The limits of endpoints. Each number is defined only here. */
export const endpointRules = {
  /** The maximum number of endpoints of one club (WEP-5). */
  endpointsPerClub: 20,
  /** The time in milliseconds for which messages are also signed with the previous secret after a rotation (SIG-4). */
  previousSecretMs: 24 * 60 * 60_000,
} as const;
