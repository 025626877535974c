/** The uses of the master keys: they encrypt secrets at rest, and derive one-time tokens (ADR 40). */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
  type KeyObject,
} from 'node:crypto';
import { Secret } from '../../core/secret.ts';

const nonceBytes = 12;
const tagBytes = 16;
/** The first byte of a sealed value that names its key. Values of earlier releases begin with a random nonce. */
const namingVersion = 1;
const keyIdBytes = 4;
/** A shorter MAC could be guessed; the hash has 32 bytes. */
const macBytes = { least: 16, most: 32 };
/** The header has a version and the key's id. */
export const sealHeaderBytes = 1 + keyIdBytes;

export interface Vault {
  /** These 4 bytes reveal nothing about the key. */
  readonly keyId: Buffer;
  /** The beginning of the values of each given key. The current key is first. */
  readonly headers: readonly [Buffer, ...Buffer[]];
  /** AES-256-GCM. `context` (the row's id) is authenticated, so a value that was moved to another row does not open. */
  seal(text: string, context: string): Buffer;
  /**
   * Tries each key if the value names none.
   * @throws SealUnreadable if the value was altered, belongs to another context, or its key is not given
   */
  open(sealed: Buffer, context: string): string;
  /**
   * @param keyId the current key if absent
   * @returns 32 bytes, always equal for one label and key
   * @throws Error if no key with this id is given; see {@link has}
   */
  derive(label: string, keyId?: Buffer): Buffer;
  /** @returns the ids of the keys, the current one first */
  readonly keyIds: readonly Buffer[];
  has(keyId: Buffer): boolean;
  /**
   * @param bytes 16 to 32
   * @returns the first bytes of `derive(label)` under the current key
   */
  mac(label: string, bytes: number): Buffer;
  /** @returns whether `mac` has 16 to 32 bytes and begins `derive(label)` under any of the keys, in constant time */
  matches(label: string, mac: Buffer): boolean;
  /** Derives a value that stays the same when the master key changes. */
  deriveLasting(label: string): Buffer;
}

/** The value was altered, or its key is not given. */
export class SealUnreadable extends Error {
  override name = 'SealUnreadable';
  code = 'sealed_value_unreadable';
  constructor() {
    super('a sealed value opens under none of the keys that are given');
  }
}

interface Key {
  id: Buffer;
  header: Buffer;
  sealing: Buffer;
  deriving: KeyObject;
}

export interface VaultOptions {
  /** Earlier or future keys. They open and verify, and never seal. */
  former?: readonly Secret<Buffer>[];
  /** The lasting key has 32 bytes. If absent, it is derived from the current master key. */
  lasting?: Secret<Buffer>;
  /** Whether sealed values contain the id of their key (ADR 40). The default is true if former keys exist. */
  namesKeys?: boolean;
}

const keyFor = (masterKey: Secret<Buffer>, use: string, bytes = 32) =>
  Buffer.from(hkdfSync('sha256', masterKey.reveal(), Buffer.alloc(0), use, bytes));

/** @returns the id, 4 bytes */
export const keyIdOf = (masterKey: Secret<Buffer>): Buffer => keyFor(masterKey, 'key id', keyIdBytes);

/** @returns 32 bytes, for a database whose first master key was this key */
export const firstLastingKey = (masterKey: Secret<Buffer>): Secret<Buffer> => new Secret(keyFor(masterKey, 'derive'));

/** @param masterKey 32 bytes; a key for each use is derived from it */
export function createVault(
  masterKey: Secret<Buffer>,
  { former = [], lasting = firstLastingKey(masterKey), namesKeys = former.length > 0 }: VaultOptions = {},
): Vault {
  const current = keyOf(masterKey);
  const keys = [current, ...former.map(keyOf)];
  // Creating the key objects costs three times as much as the hash, and an e-mail has a dozen tokens.
  const lastingKey = createSecretKey(lasting.reveal());
  const withId = (id: Buffer) => keys.find((key) => key.id.equals(id));

  return {
    keyId: current.id,
    keyIds: keys.map(({ id }) => id),
    headers: [current.header, ...keys.slice(1).map(({ header }) => header)],
    seal(text, context) {
      const header = namesKeys ? current.header : Buffer.alloc(0);
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', current.sealing, nonce, { authTagLength: tagBytes });
      cipher.setAAD(Buffer.concat([header, Buffer.from(context)]));
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([header, nonce, cipher.getAuthTag(), sealed]);
    },
    open(sealed, context) {
      const named = keys.find(({ header }) => sealed.subarray(0, sealHeaderBytes).equals(header));
      // The nonce of an older value may look like a header. So a value that does not open is tried as an older value.
      const text = named && opened(sealed, context, named, named.header);
      if (text !== undefined) return text;
      for (const key of keys) {
        const byTrial = opened(sealed, context, key);
        if (byTrial !== undefined) return byTrial;
      }
      throw new SealUnreadable();
    },
    derive(label, keyId) {
      const key = keyId === undefined ? current : withId(keyId);
      if (!key) throw new Error('a token names a key that is not given');
      return macOf(key.deriving, label);
    },
    has: (keyId) => withId(keyId) !== undefined,
    mac(label, bytes) {
      if (!isMacLength(bytes)) throw new Error(`a mac has ${macBytes.least} to ${macBytes.most} bytes, not ${bytes}`);
      return macOf(current.deriving, label).subarray(0, bytes);
    },
    matches: (label, mac) =>
      isMacLength(mac.length) &&
      keys.some(({ deriving }) => timingSafeEqual(mac, macOf(deriving, label).subarray(0, mac.length))),
    deriveLasting: (label) => macOf(lastingKey, label),
  };
}

function keyOf(masterKey: Secret<Buffer>): Key {
  const id = keyIdOf(masterKey);
  return {
    id,
    header: Buffer.concat([Buffer.of(namingVersion), id]),
    sealing: keyFor(masterKey, 'seal'),
    deriving: createSecretKey(keyFor(masterKey, 'derive')),
  };
}

const isMacLength = (bytes: number) => bytes >= macBytes.least && bytes <= macBytes.most;

const macOf = (key: KeyObject, label: string) => createHmac('sha256', key).update(label).digest();

/**
 * @param header absent for a value that names no key
 * @returns undefined if the value does not open
 */
function opened(
  sealed: Buffer,
  context: string,
  { sealing }: Key,
  header: Buffer = Buffer.alloc(0),
): string | undefined {
  const body = sealed.subarray(header.length);
  if (body.length < nonceBytes + tagBytes) return undefined;
  const nonce = body.subarray(0, nonceBytes);
  const decipher = createDecipheriv('aes-256-gcm', sealing, nonce, { authTagLength: tagBytes })
    .setAAD(Buffer.concat([header, Buffer.from(context)]))
    .setAuthTag(body.subarray(nonceBytes, nonceBytes + tagBytes));
  try {
    return Buffer.concat([decipher.update(body.subarray(nonceBytes + tagBytes)), decipher.final()]).toString('utf8');
  } catch {
    return undefined; // Node reports only that the value does not open
  }
}

export function sha256(value: string): Buffer {
  return createHash('sha256').update(value).digest();
}

/** In constant time. */
export function sameText(first: string, second: string): boolean {
  return timingSafeEqual(sha256(first), sha256(second));
}
