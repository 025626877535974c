/** The uses of the master key: it encrypts secrets at rest, and derives one-time tokens, which are stored nowhere. */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import type { Secret } from '../core/secret.ts';

const nonceBytes = 12;
const tagBytes = 16;

export interface Vault {
  /** AES-256-GCM; `context` (the row's id) is authenticated, so that a sealed value moved to another row does not open. */
  seal(text: string, context: string): Buffer;
  /** @throws Error if the value was altered, belongs to another context or was sealed under another key */
  open(sealed: Buffer, context: string): string;
  /** 32 bytes that only the holder of the master key can tell from the label: the same for the same label. */
  derive(label: string): Buffer;
}

/** @param masterKey 32 bytes; two keys are derived from it, one a use */
export function createVault(masterKey: Secret<Buffer>): Vault {
  const keyFor = (use: string) => Buffer.from(hkdfSync('sha256', masterKey.reveal(), Buffer.alloc(0), use, 32));
  const sealingKey = keyFor('seal');
  // As an object: made anew for each call, it costs three times as much as the hash, and a mail has a dozen tokens.
  const derivingKey = createSecretKey(keyFor('derive'));

  return {
    seal(text, context) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', sealingKey, nonce).setAAD(Buffer.from(context));
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
    },
    open(sealed, context) {
      const decipher = createDecipheriv('aes-256-gcm', sealingKey, sealed.subarray(0, nonceBytes))
        .setAAD(Buffer.from(context))
        .setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
      return Buffer.concat([decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()]).toString(
        'utf8',
      );
    },
    derive: (label) => createHmac('sha256', derivingKey).update(label).digest(),
  };
}

export function sha256(value: string): Buffer {
  return createHash('sha256').update(value).digest();
}

/** Compares in constant time. */
export function sameText(left: string, right: string): boolean {
  return timingSafeEqual(sha256(left), sha256(right));
}
