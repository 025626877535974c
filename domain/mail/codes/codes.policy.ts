/** How often codes may be guessed (DEC-61). Pure. */

/** Tries of one request whose code was mailed. */
export const codeTries = 5;

/**
 * Wrong codes of one account in one day (UTC), whatever codes they were meant for. Beyond them each mailed request has one try: to
 * refuse them all would let anybody who asks for codes and guesses keep the owner out.
 */
export const wrongCodesADay = 20;

/**
 * Wrong codes of one day (UTC) that were tried through requests whose mail was withheld. Such requests cost a stranger no mail, so
 * they have bounds of their own. No single network can use up those of the account.
 */
export const withheldTriesADay = { account: 100, network: 25 } as const;

/**
 * @param tried codes of the account that were tried today without success, this one included
 * @returns how many of a request's tries must be left for this one
 */
export function triesNeeded(tried: number): number {
  return tried > wrongCodesADay ? codeTries : 1;
}

/** @param tried through withheld requests today without success, this one included */
export function mayTryWithheld(tried: { account: number; network: number }): boolean {
  return tried.account <= withheldTriesADay.account && tried.network <= withheldTriesADay.network;
}
