/**
 * Issues and checks device tokens. A token proves that a device has had a sign-in session of an account. Tokens are not stored (LIM-26).
 */
import { randomBytes } from 'node:crypto';
import type { Vault } from '../../../platform/infra/keys/vault.ts';

/** The time for which a device is recognized after its last sign-in. */
const lifetimeMs = 180 * 24 * 3_600_000;
const timeBytes = 6;
const idBytes = 12;
const macBytes = 16;

const labelOf = (account: string, token: Buffer) => `device:${account}:${token.toString('hex')}`;

/**
 * @param account the e-mail address, so that a new address makes the token invalid
 * @returns a token of letters, digits, `-` and `_`
 */
export function deviceToken(vault: Vault, account: string, now: Date): string {
  const time = Buffer.alloc(timeBytes);
  time.writeUIntBE(Math.floor(now.getTime() / 1_000), 0, timeBytes);
  const token = Buffer.concat([time, randomBytes(idBytes)]);
  return Buffer.concat([token, vault.mac(labelOf(account, token), macBytes)]).toString('base64url');
}

/** @returns the device's id; undefined if the token belongs to another account, was not issued by this service, or has expired */
export function readDevice(vault: Vault, account: string, text: string, now: Date): string | undefined {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== timeBytes + idBytes + macBytes || bytes.toString('base64url') !== text) return undefined;
  const token = bytes.subarray(0, timeBytes + idBytes);
  if (!vault.matches(labelOf(account, token), bytes.subarray(timeBytes + idBytes))) return undefined;
  const issuedAt = token.readUIntBE(0, timeBytes) * 1_000;
  return now.getTime() < issuedAt + lifetimeMs ? token.toString('hex', timeBytes) : undefined;
}
