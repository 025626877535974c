/** Passwords that leaked so often that they are tried first. Loaded with the process: unpacking the list takes some 150 ms. */
// @zxcvbn-ts/language-common: maintained, MIT, 50,000 passwords in 380 kB, and no code that judges in our place.
import { dictionary } from '@zxcvbn-ts/language-common';

const leaked: ReadonlySet<string> = new Set(dictionary['passwords-common']);

/** @param password in lower case */
export function isLeaked(password: string): boolean {
  return leaked.has(password);
}
