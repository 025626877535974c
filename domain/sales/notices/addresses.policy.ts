/**
 * E-mail addresses in notices. Decides whether a text is an address, and finds all addresses in a body, so that the removal of a student
 * finds the notices.
 */
import { isEmail } from '../../../platform/core/text/email.policy.ts';
import { foldEmail } from '../../../platform/core/text/text.policy.ts';

const longestAddress = 254;
/** A longer text cannot be a single address, even with white space around it. */
const longestField = 1_000;
/** The body of a sale has only a few addresses. */
const maxAddresses = 200;
/**
 * In `'ada@example.com'` and `mail=ada@example.com`, the quote and the equals sign may separate the address from other text, or may belong
 * to the address. So one address may have several possible beginnings. The function tries at most this number of beginnings.
 */
const maxBeginnings = 8;

/** @returns the address in its case-folded form; undefined for a text that the contract would not accept as an address */
export function readAddress(text: string): string | undefined {
  // The text is checked before it is folded, because folding turns the Kelvin sign into a plain k.
  const address = text.trim();
  return address.length <= longestAddress && isEmail(address) ? foldEmail(address) : undefined;
}

/** Folds the text before the check. Before `readAddress` existed, the service read the addresses of notices in this way. */
function readFolded(text: string): string | undefined {
  const address = foldEmail(text);
  return address.length <= longestAddress && isEmail(address) ? address : undefined;
}

/**
 * Finds every e-mail address in the texts and in the names of fields of the body. It returns the addresses in folded form. The function
 * finds every address that `readAddress` accepts. From each `@` it searches in both directions for the ends of the address, so the time
 * grows linearly with the length of the body.
 */
export function addressesIn(body: unknown): string[] {
  const addresses = new Set<string>();
  const open: unknown[] = [body];
  while (open.length > 0 && addresses.size < maxAddresses) {
    const value = open.pop();
    if (typeof value === 'string') addAddressesOf(value, addresses);
    else if (typeof value === 'object' && value !== null)
      for (const [name, inner] of Object.entries(value)) open.push(inner, name);
  }
  return [...addresses].slice(0, maxAddresses);
}

function addAddressesOf(text: string, addresses: Set<string>): void {
  const whole = text.length <= longestField ? readFolded(text) : undefined;
  if (whole !== undefined) {
    addresses.add(whole);
    return;
  }
  for (let at = text.indexOf('@'); at !== -1 && addresses.size < maxAddresses; at = text.indexOf('@', at + 1)) {
    let end = at + 1;
    while (end - at <= longestAddress && ofDomain.test(text.charAt(end))) end++;
    // A final full stop or hyphen is not a part of the address.
    while ('.-'.includes(text.charAt(end - 1))) end--;
    for (const start of beginningsBefore(text, at)) {
      const address = readFolded(text.slice(start, end));
      if (address !== undefined) addresses.add(address);
    }
  }
}

// Each of these patterns is tested on a single character.
const ofDomain = /[a-z0-9.-]/iu;
/**
 * The pattern must also match two characters that fold to a listed character: the Kelvin sign, which the flags `iu` include, and U+1FEF, a
 * Greek accent that folds to a backtick.
 */
const ofName = /[a-z0-9.!#$%&'*+/=?^_`\u1FEF{|}~-]/iu;
const mayDivide = /[!#$%&'*/=?^`{|}~]/;

/**
 * @returns the positions at which the address before this `@` may start: the first possible character, and each position after a possible
 * separator
 */
function beginningsBefore(text: string, at: number): number[] {
  const beginnings: number[] = [];
  let start = at;
  while (at - start < longestAddress && ofName.test(text.charAt(start - 1))) {
    if (beginnings.length < maxBeginnings && mayDivide.test(text.charAt(start - 1))) beginnings.push(start);
    start--;
  }
  while (text.charAt(start) === '.') start++;
  return [...beginnings, start];
}
