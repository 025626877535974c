/**
 * The text of an API key (KEY-1): `clk_`, 8 characters of its id, `_`, 43 random characters and a checksum of 6 characters. The checksum
 * shows a mistyped key without a query, and lets secret scanners avoid false alarms.
 */
import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Id } from '../../../platform/core/ids.ts';

const keyPattern = /^(clk_[0-9a-f]{8}_[A-Za-z0-9_-]{43})([0-9A-Za-z]{6})$/;
const secretBytes = 32;
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const checksumLength = 6;

/** @returns the beginning of the key, which lists and logs may show: the last characters of a UUID are random */
export function startOfKey(id: Id): string {
  return `clk_${id.slice(-8)}`;
}

/** @returns a new key, with 32 random bytes */
export function newKey(id: Id): string {
  const text = `${startOfKey(id)}_${randomBytes(secretBytes).toString('base64url')}`;
  return text + checksumOf(text);
}

/** @returns whether the text has the form of a key, and its checksum is right */
export function isWellFormedKey(text: string): boolean {
  const [, key = '', checksum] = keyPattern.exec(text) ?? [];
  return checksum !== undefined && checksumOf(key) === checksum;
}

/** @returns the CRC-32 in base 62, with leading zeros */
function checksumOf(text: string): string {
  let rest = crc32(text);
  let checksum = '';
  while (checksum.length < checksumLength) {
    checksum = digits.charAt(rest % digits.length) + checksum;
    rest = Math.floor(rest / digits.length);
  }
  return checksum;
}
