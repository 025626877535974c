/** The limits for guessing codes (DEC-61). The functions are pure. */

/** A request with a mailed code allows this many tries. */
export const codeTries = 5;

/**
 * Wrong codes of one account in one day (UTC), over all its requests. Beyond this, each mailed request still allows one try. Otherwise an
 * attacker who requests and guesses codes could lock out the owner.
 */
export const wrongCodesADay = 20;

/**
 * Wrong codes in one day (UTC) for requests without a mail. An attacker can make many of these, so they have limits of their own. A network
 * has a lower limit than an account, so that one network cannot use up the account's limit.
 */
export const withheldTriesADay = { account: 100, network: 25 } as const;

/**
 * @param wrongCodes of the account, today, with this try
 * @returns how many tries a request must still have for this try
 */
export function triesNeeded(wrongCodes: number): number {
  return wrongCodes > wrongCodesADay ? codeTries : 1;
}

/** @param wrongCodes through withheld requests, today, with this try */
export function mayTryWithheld(wrongCodes: { account: number; network: number }): boolean {
  return wrongCodes.account <= withheldTriesADay.account && wrongCodes.network <= withheldTriesADay.network;
}
