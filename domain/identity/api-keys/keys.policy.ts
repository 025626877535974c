/** The bounds of API keys, and their status (KEY-2). */

const hour = 3_600_000;
const day = 24 * hour;

export const apiKeyRules = {
  perClub: 50,
  /** The longest time from now until the expiry of a key. */
  lifetimeMs: 366 * day,
  /** The time for which an old secret is accepted after a rotation, unless the caller chooses another. */
  defaultOverlapHours: 24,
  /** The shortest time between two writes of `last_used_at`, so that only few requests write. */
  useWrittenEveryMs: 5 * 60_000,
  /** The time for which an expired or revoked key stays in the list. */
  retentionMs: 400 * day,
} as const;

export type KeyStatus = 'active' | 'expired' | 'revoked';

export function statusOfKey(key: { revokedAt: Date | null; expiresAt: Date }, now: Date): KeyStatus {
  if (key.revokedAt !== null) return 'revoked';
  return key.expiresAt.getTime() > now.getTime() ? 'active' : 'expired';
}

export const hoursInMs = (hours: number): number => hours * hour;
