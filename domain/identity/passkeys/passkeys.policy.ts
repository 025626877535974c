/** The bounds of passkeys (PKY-1, PKY-3). */
export const passkeyRules = {
  /** For a student. The passkeys of an administrator count as second factors (FAC-4). */
  perStudent: 10,
  /** The time in which an authenticator must answer a challenge. In milliseconds. */
  challengeMs: 5 * 60_000,
  /** Bytes of an attestation object. A passkey without an attestation has less than 2,000. */
  attestationBytes: 6_144,
  /** Bytes of a credential's id. WebAuthn allows no more. */
  credentialIdBytes: 1_023,
} as const;
