/** The secrets that sign an endpoint's webhooks (SIG-1, SIG-4, HOOK-14). */
import { randomBytes } from 'node:crypto';

const secretPrefix = 'whsec_';
const secretBytes = 32;

/** @returns `whsec_` and 32 random bytes in standard base64 with padding. It is shown only once, and stored encrypted. */
export function newSecret(): string {
  return secretPrefix + randomBytes(secretBytes).toString('base64');
}

/**
 * @returns the 32 bytes of a secret, the key of the signature
 * @throws TypeError for an invalid secret
 */
export function signingKeyOf(secret: string): Buffer {
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64');
  // Node decodes invalid base64 silently, so a damaged secret would give a short key, and no receiver would accept its signatures.
  if (!secret.startsWith(secretPrefix) || key.length !== secretBytes)
    throw new TypeError('The text is not a webhook secret.');
  return key;
}
