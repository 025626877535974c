/** What stands for an e-mail address where only its sameness matters: after a removal nothing of the address is left in it. */
import type { Vault } from './vault.ts';

/** @returns 32 bytes, the same for the same address */
export function addressKeyOf(vault: Vault, foldedEmail: string): Buffer {
  return vault.derive(`mail address:${foldedEmail}`);
}
