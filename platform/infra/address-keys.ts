/** Keyed hashes of e-mail addresses: they compare addresses without storing them, and stay when the master key changes (ADR 40). */
import type { Vault } from './vault.ts';

/** @returns what an address is hashed as */
export const mailAddressLabel = (foldedEmail: string): string => `mail address:${foldedEmail}`;

/** @returns 32 bytes, the same for the same address */
export function addressKeyOf(vault: Vault, foldedEmail: string): Buffer {
  return vault.deriveLasting(mailAddressLabel(foldedEmail));
}
