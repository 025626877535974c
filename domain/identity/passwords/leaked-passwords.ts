/** Passwords that leaked so often that attackers try them first. The list loads with the process, because unpacking takes some 150 ms. */
// @zxcvbn-ts/language-common: maintained, MIT, 50,000 passwords in 380 kB, and no code that judges passwords.
import { dictionary } from '@zxcvbn-ts/language-common';

const leaked: ReadonlySet<string> = new Set(dictionary['passwords-common']);

/** @param password in lower case */
export function isLeaked(password: string): boolean {
  return leaked.has(password);
}
