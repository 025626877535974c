/**
 * Passwords that leaked so often that attackers try them first. The list is loaded when the process starts, because unpacking it takes some
 * 150 ms.
 */
// The list is from @zxcvbn-ts/language-common. This package is maintained, has the MIT license and 50,000 passwords in 380 kB, and contains
// no code that judges passwords.
import { dictionary } from '@zxcvbn-ts/language-common';

const leaked: ReadonlySet<string> = new Set(dictionary['passwords-common']);

/** @param password the password in lower case */
export function isLeaked(password: string): boolean {
  return leaked.has(password);
}
