/** How often codes may be guessed at (DEC-61). */

/** Tries of one code. */
export const codeTries = 5;

/**
 * Wrong codes of one address in one day (UTC), whatever codes they were meant for. Beyond them each code has one try: to
 * refuse them all would let anybody who asks for codes and guesses keep the owner out.
 */
export const wrongCodesADay = 20;

/** @param tried codes of the address that were tried today without success, this one included @returns how many of a code's tries must be left for this one */
export function triesNeeded(tried: number): number {
  return tried > wrongCodesADay ? codeTries : 1;
}
