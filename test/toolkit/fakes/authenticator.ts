/**
 * An authenticator and its browser in software: creates passkeys and signs challenges. A test can change each part of an answer before it is
 * signed, such as the origin or the counter, or afterwards.
 */
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import type { RecordOf } from '../../../contract/contract.ts';

export type KeyKind = 'P-256' | 'Ed25519' | 'RSA';
type CborValue = Parameters<typeof isoCBOR.encode>[0];

/** Deviations from an honest answer. */
export interface Deviations {
  type?: string;
  challenge?: string;
  origin?: string;
  crossOrigin?: boolean;
  topOrigin?: string;
  rpId?: string;
  userPresent?: boolean;
  userVerified?: boolean;
  counter?: number;
  userHandle?: string | undefined;
  format?: string;
  statement?: Map<string, CborValue>;
  /** Replaces the COSE key of a new passkey. */
  publicKey?: Map<number, CborValue>;
}

const bitOf = { userPresent: 0x01, userVerified: 0x04, canSync: 0x08, isSynced: 0x10, hasKey: 0x40 } as const;
const base64url = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');
const sha256 = (text: string | Uint8Array) => createHash('sha256').update(text).digest();

interface Settings {
  kind?: KeyKind;
  counts?: boolean;
  credentialId?: Buffer;
}

export class SoftwareAuthenticator {
  readonly credentialId: Buffer;
  readonly #kind: KeyKind;
  readonly #origin: string;
  readonly #privateKey: KeyObject;
  readonly #publicKey: KeyObject;
  readonly #step: number;
  #counter: number;
  #userHandle: string | undefined;

  /** @param counts whether the signature counter grows. Synchronized passkeys do not count */
  constructor(origin: string, { kind = 'P-256', counts = false, credentialId = randomBytes(32) }: Settings = {}) {
    this.#origin = origin;
    this.#kind = kind;
    const { privateKey, publicKey } = keysOf(kind);
    this.#privateKey = privateKey;
    this.#publicKey = publicKey;
    this.credentialId = credentialId;
    this.#step = counts ? 1 : 0;
    this.#counter = this.#step;
  }

  /** Answers the options of a registration. */
  create(options: RecordOf<'PasskeyCreationOptions'>, deviations: Deviations = {}): RecordOf<'PasskeyRegistration'> {
    this.#userHandle = options.user.id;
    const id = Buffer.alloc(2);
    id.writeUInt16BE(this.credentialId.length);
    const key = isoCBOR.encode(deviations.publicKey ?? coseKeyOf(this.#kind, this.#publicKey));
    const attested = Buffer.concat([Buffer.alloc(16), id, this.credentialId, key]);
    const authData = this.#authenticatorData(options.rp.id, bitOf.hasKey, attested, deviations);
    const attestation = new Map<string, CborValue>([
      ['fmt', deviations.format ?? 'none'],
      ['attStmt', deviations.statement ?? new Map<string, CborValue>()],
      ['authData', Uint8Array.from(authData)],
    ]);
    return {
      id: base64url(this.credentialId),
      rawId: base64url(this.credentialId),
      type: 'public-key',
      response: {
        clientDataJSON: base64url(this.#clientData('webauthn.create', options.challenge, deviations)),
        attestationObject: base64url(isoCBOR.encode(attestation)),
        transports: ['internal', 'hybrid', 'a new transport'],
      },
      authenticatorAttachment: 'platform',
      clientExtensionResults: { credProps: { rk: true } },
    };
  }

  /** Answers the options of a sign-in or of a proof. */
  get(options: RecordOf<'PasskeyRequestOptions'>, deviations: Deviations = {}): RecordOf<'PasskeyAssertion'> {
    this.#counter += this.#step;
    const authenticatorData = this.#authenticatorData(options.rpId, 0, Buffer.alloc(0), deviations);
    const clientData = this.#clientData('webauthn.get', options.challenge, deviations);
    const signature = sign(
      this.#kind === 'Ed25519' ? null : 'sha256',
      Buffer.concat([authenticatorData, sha256(clientData)]),
      this.#privateKey,
    );
    const userHandle = 'userHandle' in deviations ? deviations.userHandle : this.#userHandle;
    return {
      id: base64url(this.credentialId),
      rawId: base64url(this.credentialId),
      type: 'public-key',
      response: {
        clientDataJSON: base64url(clientData),
        authenticatorData: base64url(authenticatorData),
        signature: base64url(signature),
        ...(userHandle !== undefined && { userHandle }),
      },
      authenticatorAttachment: 'platform',
      clientExtensionResults: {},
    };
  }

  #clientData(type: string, challenge: string, deviations: Deviations): Buffer {
    const { crossOrigin = false, topOrigin } = deviations;
    return Buffer.from(
      JSON.stringify({
        type: deviations.type ?? type,
        challenge: deviations.challenge ?? challenge,
        origin: deviations.origin ?? this.#origin,
        crossOrigin,
        ...(topOrigin !== undefined && { topOrigin }),
      }),
    );
  }

  #authenticatorData(rpId: string, flags: number, attested: Buffer, deviations: Deviations): Buffer {
    const { userPresent = true, userVerified = true, counter = this.#counter } = deviations;
    const head = Buffer.alloc(5);
    const synced = this.#step === 0 ? bitOf.canSync | bitOf.isSynced : 0;
    head.writeUInt8(flags | synced | (userPresent ? bitOf.userPresent : 0) | (userVerified ? bitOf.userVerified : 0));
    head.writeUInt32BE(counter, 1);
    return Buffer.concat([sha256(deviations.rpId ?? rpId), head, attested]);
  }
}

function keysOf(kind: KeyKind): { privateKey: KeyObject; publicKey: KeyObject } {
  if (kind === 'Ed25519') return generateKeyPairSync('ed25519');
  if (kind === 'RSA') return generateKeyPairSync('rsa', { modulusLength: 2_048 });
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

/** @returns the public key as COSE */
export function coseKeyOf(kind: KeyKind, key: KeyObject): Map<number, CborValue> {
  const { x = '', y = '', n = '', e = '' } = key.export({ format: 'jwk' });
  const bytes = (text: string) => Uint8Array.from(Buffer.from(text, 'base64url'));
  if (kind === 'Ed25519')
    return new Map<number, CborValue>([
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, bytes(x)],
    ]);
  if (kind === 'RSA')
    return new Map<number, CborValue>([
      [1, 3],
      [3, -257],
      [-1, bytes(n)],
      [-2, bytes(e)],
    ]);
  return new Map<number, CborValue>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, bytes(x)],
    [-3, bytes(y)],
  ]);
}
