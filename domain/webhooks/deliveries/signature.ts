/** How receivers know that a webhook is ours: the secret and the three signature headers (SIG-1, SIG-2, HOOK-14). */
import { createHmac, randomBytes } from 'node:crypto';

const secretPrefix = 'whsec_';
const secretBytes = 32;

/** A new endpoint secret: `whsec_` and 32 random bytes in standard base64 with padding. Shown once, stored encrypted. */
export function newSecret(): string {
  return secretPrefix + randomBytes(secretBytes).toString('base64');
}

export interface SignatureHeaders {
  'webhook-id': string;
  /** Whole Unix seconds of the attempt, not of the fact. */
  'webhook-timestamp': string;
  /** `v1,<base64>` for each secret, newest first, one space between. */
  'webhook-signature': string;
}

/**
 * Signs one attempt: HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{raw body}`, once for each secret, so that during a
 * rotation a receiver that knows either one accepts it.
 * @param message.body exactly the bytes that are sent; text is sent as UTF-8
 * @param message.secrets newest first, at least one
 * @param message.at the attempt's time, as a date or in Unix milliseconds
 * @throws TypeError for no secret, or one that `newSecret` cannot have made
 */
export function signatureHeaders(message: {
  eventId: string;
  body: Uint8Array | string;
  secrets: readonly string[];
  at: Date | number;
}): SignatureHeaders {
  const { eventId, body, secrets, at } = message;
  if (secrets.length === 0) throw new TypeError('A webhook is signed with at least one secret.');
  const timestamp = String(Math.floor(Number(at) / 1_000));
  const signatures = secrets.map((secret) => {
    const mac = createHmac('sha256', keyOf(secret)).update(`${eventId}.${timestamp}.`).update(body);
    return `v1,${mac.digest('base64')}`;
  });
  return { 'webhook-id': eventId, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

function keyOf(secret: string): Buffer {
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64');
  // Node decodes whatever it can: a damaged secret would give a short key, and signatures that no receiver accepts.
  if (!secret.startsWith(secretPrefix) || key.length !== secretBytes) throw new TypeError('Not a webhook secret.');
  return key;
}
