/** The hourly limit of mails that a club sends to one address with one template (DEC-141). The function is pure. */

export const requestRules = {
  /** Protects a mailbox against many requested mails, no matter who requests them. */
  mailsAnHour: 5,
  hourMs: 3_600_000,
  /**
   * When the limit is reached, one more mail is still sent in each period of this length. Without this rule, an attacker could use up the
   * limit, and the owner of the address would get no valid code.
   */
  oneMoreEveryMs: 10 * 60_000,
} as const;

/**
 * @param newestFirst the sent and planned mails of the last hour
 * @returns the time until which the next mail is withheld; undefined if it may be sent now
 */
export function withheldUntil(newestFirst: readonly Date[], now: Date): Date | undefined {
  const { mailsAnHour, hourMs, oneMoreEveryMs } = requestRules;
  const [newest] = newestFirst;
  const last = newestFirst[mailsAnHour - 1];
  if (newest === undefined || last === undefined) return undefined;
  const until = Math.min(last.getTime() + hourMs, newest.getTime() + oneMoreEveryMs);
  return until > now.getTime() ? new Date(until) : undefined;
}
