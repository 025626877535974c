/** Keyed hashes of e-mail addresses. They allow comparisons without a stored address, and do not change with the master key (ADR 40). */
import type { Vault } from './vault.ts';

/** @returns the input of the keyed hash */
export const mailAddressLabel = (foldedEmail: string): string => `mail address:${foldedEmail}`;

/** @returns 32 bytes, which are always the same for the same address */
export function addressKeyOf(vault: Vault, foldedEmail: string): Buffer {
  return vault.deriveLasting(mailAddressLabel(foldedEmail));
}
