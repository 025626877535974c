/** The limits for guessing codes (DEC-61). The functions are pure. */

/** A request with a mailed code allows this many tries. */
export const codeTries = 5;

/**
 * The limit of wrong codes of one account in one day (UTC), for all requests of the account together. Above this limit each mailed request
 * still allows one try. Without that try, an attacker who requests and guesses codes could lock out the owner.
 */
export const wrongCodesADay = 20;

/**
 * The limits of wrong codes in one day (UTC) for requests whose mail the service withheld. Such a request sends no mail, so an attacker can
 * make many requests. Therefore these requests have separate limits. The limit of one network is lower than the limit of an account, so one
 * network cannot use up the account's limit.
 */
export const withheldTriesADay = { account: 100, network: 25 } as const;

/**
 * @param wrongCodes the number of the account's wrong codes of today, including this try
 * @returns the number of tries that a request must still have, so that this try is allowed
 */
export function triesNeeded(wrongCodes: number): number {
  return wrongCodes > wrongCodesADay ? codeTries : 1;
}

/** @param wrongCodes the numbers of wrong codes of today through withheld requests, including this try */
export function mayTryWithheld(wrongCodes: { account: number; network: number }): boolean {
  return wrongCodes.account <= withheldTriesADay.account && wrongCodes.network <= withheldTriesADay.network;
}
