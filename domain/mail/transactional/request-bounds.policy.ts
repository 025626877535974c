/** How many mails of one template a club sends to one address in an hour (DEC-141). Pure. */

export const requestRules = {
  /** Whoever asks for more, in whatever way, fills no mailbox. */
  mailsAnHour: 5,
  hourMs: 3_600_000,
  /** Beyond that, one mail now and then: a stranger who uses the hour up must not keep the owner from a code that works. */
  oneMoreEveryMs: 10 * 60_000,
} as const;

/**
 * @param newestFirst when the mails of the last hour were handed over, or are to be: the newest first
 * @returns until when the next mail is withheld; undefined if it may go now
 */
export function withheldUntil(newestFirst: readonly Date[], now: Date): Date | undefined {
  const { mailsAnHour, hourMs, oneMoreEveryMs } = requestRules;
  const [newest] = newestFirst;
  const last = newestFirst[mailsAnHour - 1];
  if (newest === undefined || last === undefined) return undefined;
  const until = Math.min(last.getTime() + hourMs, newest.getTime() + oneMoreEveryMs);
  return until > now.getTime() ? new Date(until) : undefined;
}
