/** The times of erasures (ERS-1, ERS-3, ERS-9). */

const dayMs = 86_400_000;

export const erasureRules = {
  /** The time between the request and the beginning of the erasure of a club. */
  delayMs: 14 * dayMs,
  /** Owners and admins get a reminder this long before the erasure begins. */
  reminderMs: 3 * dayMs,
  /** No other club may take the slug of an erased club during this time after the erasure. */
  slugReservedMs: 90 * dayMs,
  /** The row of an erasure is kept for this time after the erasure. */
  retentionMs: 400 * dayMs,
} as const;

/**
 * Compares a typed name with the name of a club. Blanks around the name and another Unicode form of the same characters do not count
 * (ERS-2).
 */
export const isSameName = (typed: string, name: string): boolean => comparable(typed) === comparable(name);

const comparable = (name: string) => name.normalize('NFC').trim();
