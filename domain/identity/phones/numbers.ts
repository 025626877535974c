/** Reads telephone numbers as people write them, and returns them in E.164 (SES-4). */
// The numbering plans of all countries change every few weeks, so this maintained library has them: a port of Google's libphonenumber.
import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';

/** Calls and messages to these kinds of numbers cost extra, or reach no person. Fraudsters would earn from codes to such numbers. */
const refusedTypes: ReadonlySet<string | undefined> = new Set([
  'PREMIUM_RATE',
  'SHARED_COST',
  'TOLL_FREE',
  'UAN',
  'PAGER',
  'VOICEMAIL',
]);

/** The characters that people write between digits. The library would also accept letters and extensions. */
const written = /^\+[\d\s().\-/]+$/;

/**
 * @param text a number with `+` and its country code
 * @returns the number in E.164, such as `+351912345678`
 * @throws DomainError invalid_request
 */
export function phoneNumber(text: string): string {
  const tidy = text.normalize('NFKC').trim();
  const number = written.test(tidy) ? parsePhoneNumberFromString(tidy) : undefined;
  if (!number?.isValid())
    throw new DomainError(
      'invalid_request',
      'phone must be a complete telephone number with + and its country code, such as +351 912 345 678.',
    );
  if (refusedTypes.has(number.getType()))
    throw new DomainError('invalid_request', 'phone must be the number of a person, without extra cost for callers.');
  return number.number;
}

/** @returns 32 bytes, always the same for one number. They do not change with the master key */
export function numberKeyOf(vault: Vault, number: string): Buffer {
  return vault.deriveLasting(`phone number:${number}`);
}
