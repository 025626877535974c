/** E-mail addresses in notices: what counts as one, and where they stand in a body, so that a person's removal finds them. */
import { isEmail } from '../../../platform/core/email.policy.ts';
import { foldEmail } from '../../../platform/core/text.policy.ts';

const longestAddress = 254;
/** Of a text that is an address and nothing else: white space around it may be much. */
const longestField = 1_000;
/** A body of a sale holds a handful; what is beyond is no sale's. */
const maxAddresses = 200;
/** Characters that an address may begin after although they could be part of it: `'ada@example.com'`, `mail=ada@example.com`. */
const maxBeginnings = 8;

/** @returns the address as accounts keep it, folded; undefined for what the contract would not take for one either */
export function readAddress(text: string): string | undefined {
  // Judged before it is folded: folding makes a plain k of the Kelvin sign.
  const address = text.trim();
  return address.length <= longestAddress && isEmail(address) ? foldEmail(address) : undefined;
}

/** Notices from before the rule above named people by what their addresses fold to. */
function readFolded(text: string): string | undefined {
  const address = foldEmail(text);
  return address.length <= longestAddress && isEmail(address) ? address : undefined;
}

/**
 * Every e-mail address in any text of the body, folded, the names of fields included: whatever `readAddress` takes for one is
 * found. A walk from each `@` outwards to where no address goes on, so that the time is linear in the body's length.
 */
export function addressesIn(body: unknown): string[] {
  const found = new Set<string>();
  const open: unknown[] = [body];
  while (open.length > 0 && found.size < maxAddresses) {
    const value = open.pop();
    if (typeof value === 'string') addAddressesOf(value, found);
    else if (typeof value === 'object' && value !== null)
      for (const [name, inner] of Object.entries(value)) open.push(inner, name);
  }
  return [...found].slice(0, maxAddresses);
}

function addAddressesOf(text: string, found: Set<string>): void {
  const whole = text.length <= longestField ? readFolded(text) : undefined;
  if (whole !== undefined) {
    found.add(whole);
    return;
  }
  for (let at = text.indexOf('@'); at !== -1 && found.size < maxAddresses; at = text.indexOf('@', at + 1)) {
    let end = at + 1;
    while (end - at <= longestAddress && ofDomain.test(text.charAt(end))) end++;
    // The full stop of the sentence, or a hyphen after it.
    while ('.-'.includes(text.charAt(end - 1))) end--;
    for (const start of beginningsBefore(text, at)) {
      const address = readFolded(text.slice(start, end));
      if (address !== undefined) found.add(address);
    }
  }
}

// Each is asked of one character.
const ofDomain = /[a-z0-9.-]/iu;
/** Also what folds into one of these: the Kelvin sign, by the flags, and the Greek accent that is a `. */
const ofName = /[a-z0-9.!#$%&'*+/=?^_`\u1FEF{|}~-]/iu;
const mayDivide = /[!#$%&'*/=?^`{|}~]/;

/** Where the address before this `@` may begin: at the end of all that could be part of it, and after what may divide. */
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
