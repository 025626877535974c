/** Keyed hashes of e-mail addresses: they compare addresses without storing them. */
import type { Vault } from './vault.ts';

/** @returns 32 bytes, the same for the same address */
export function addressKeyOf(vault: Vault, foldedEmail: string): Buffer {
  return vault.derive(`mail address:${foldedEmail}`);
}
