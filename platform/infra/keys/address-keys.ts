/** Keyed hashes of e-mail addresses. They do not change with the master key (ADR 40). */
import type { Vault } from './vault.ts';

export const mailAddressLabel = (foldedEmail: string): string => `mail address:${foldedEmail}`;

/** @returns 32 bytes, always the same for one address */
export function addressKeyOf(vault: Vault, foldedEmail: string): Buffer {
  return vault.deriveLasting(mailAddressLabel(foldedEmail));
}
