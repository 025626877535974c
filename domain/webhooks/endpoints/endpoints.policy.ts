/** The numbers of endpoints, each here and nowhere else. */
export const endpointRules = {
  /** Endpoints of one club (WEP-5). */
  endpointsPerClub: 20,
  /** The previous secret keeps signing for so many milliseconds after a rotation (SIG-4). */
  previousSecretMs: 24 * 60 * 60_000,
} as const;
