/** The limits of guesses at codes (DEC-61). Pure. */

/** Tries of one request whose code was mailed. */
export const codeTries = 5;

/**
 * Wrong codes of one account in one day (UTC), over all its requests. Above this number each mailed request has one try. The service does
 * not refuse every try, because then an attacker who requests and guesses codes could lock out the owner.
 */
export const wrongCodesADay = 20;

/**
 * Wrong codes in one day (UTC) through requests whose mail was withheld. An attacker can make many such requests, because they cause no
 * mail, so they have limits of their own. No single network can use up the limit of an account.
 */
export const withheldTriesADay = { account: 100, network: 25 } as const;

/**
 * @param wrongCodes the account's wrong codes of today, this code included @returns the number of tries that a request must still have
 * before this try
 */
export function triesNeeded(wrongCodes: number): number {
  return wrongCodes > wrongCodesADay ? codeTries : 1;
}

/** @param wrongCodes the wrong codes of today through withheld requests, this code included */
export function mayTryWithheld(wrongCodes: { account: number; network: number }): boolean {
  return wrongCodes.account <= withheldTriesADay.account && wrongCodes.network <= withheldTriesADay.network;
}
