/** The numbers of endpoints, each here and nowhere else. */
export const endpointRules = {
  /** Endpoints of one club (WEP-5). */
  endpointsPerClub: 20,
  /** How long the previous secret keeps signing after a rotation (SIG-4), in milliseconds. */
  previousSecretMs: 24 * 60 * 60_000,
} as const;
