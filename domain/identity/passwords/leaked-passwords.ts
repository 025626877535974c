/**
 * Checks whether a password is one of the passwords that leaked most often, which attackers try first. The list is loaded when the process
 * starts, because unpacking the list takes some 150 ms.
 */
// The list is from @zxcvbn-ts/language-common. This package is maintained and has the MIT license. It contains 50,000 passwords in 380 kB,
// and no code that judges passwords.
import { dictionary } from '@zxcvbn-ts/language-common';

const leaked: ReadonlySet<string> = new Set(dictionary['passwords-common']);

/** @param password the password in lower case */
export function isLeaked(password: string): boolean {
  return leaked.has(password);
}
