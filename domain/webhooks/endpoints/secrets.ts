/** The secrets that sign an endpoint's webhooks (SIG-1, SIG-4, HOOK-14). */
import { randomBytes } from 'node:crypto';

const secretPrefix = 'whsec_';
const secretBytes = 32;

/**
 * @returns a new secret: `whsec_` and 32 random bytes in standard base64 with padding. The service shows the secret only once, and stores
 * it encrypted.
 */
export function newSecret(): string {
  return secretPrefix + randomBytes(secretBytes).toString('base64');
}

/**
 * @returns the 32 bytes of a secret, which are the key of the signature
 * @throws TypeError for an invalid secret
 */
export function signingKeyOf(secret: string): Buffer {
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64');
  // Node decodes invalid base64 silently. So a damaged secret would become a key that is too short, and no receiver would accept the
  // signatures.
  if (!secret.startsWith(secretPrefix) || key.length !== secretBytes)
    throw new TypeError('The text is not a webhook secret.');
  return key;
}
