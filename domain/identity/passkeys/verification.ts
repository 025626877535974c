/**
 * Checks the answers of authenticators. The library throws a different error for each fault. Callers learn only whether an answer is right,
 * so that an attacker learns nothing (PKY-4).
 */
import { generateKeyPairSync } from 'node:crypto';
import { verifyAuthenticationResponse, verifyRegistrationResponse } from '@simplewebauthn/server';
import {
  COSEALG,
  cose,
  decodeAttestationObject,
  decodeClientDataJSON,
  decodeCredentialPublicKey,
  isoCBOR,
} from '@simplewebauthn/server/helpers';
import type { RecordOf } from '../../../contract/contract.ts';
import { idAsBytes } from './user-handles.ts';
import { passkeyRules } from './passkeys.policy.ts';
import { isAcceptedKey, isStrictSignature, keyAlgorithms } from './public-keys.policy.ts';

/** The page that must have asked for the answer. */
export interface ExpectedPage {
  readonly rpId: string;
  readonly origin: string;
  /** In base64url. */
  readonly challenge: string;
}

export interface KnownCredential {
  readonly ownerId: string;
  readonly publicKey: Buffer;
  readonly counter: number;
}

export interface NewCredential {
  readonly credentialId: Buffer;
  readonly publicKey: Buffer;
  readonly counter: number;
  readonly isSynced: boolean;
}

type Assertion = RecordOf<'PasskeyAssertion'>;
type Registration = RecordOf<'PasskeyRegistration'>;

/** Base64 has several spellings of the same bytes. Only the canonical spelling is accepted. */
const isCanonical = (text: string) => Buffer.from(text, 'base64url').toString('base64url') === text;

/** @returns the challenge in the client data; undefined if the client data are invalid, or if they come from a frame of a foreign page */
export function challengeIn({ response }: Assertion | Registration): string | undefined {
  try {
    const clientData: Readonly<Record<string, unknown>> = decodeClientDataJSON(response.clientDataJSON);
    const { challenge, crossOrigin = false, topOrigin } = clientData;
    const isOwnPage = crossOrigin === false && topOrigin === undefined;
    return isOwnPage && typeof challenge === 'string' ? challenge : undefined;
  } catch {
    return undefined; // no JSON
  }
}

/**
 * @param credential undefined if no passkey has the id. The check then takes as long, with a key without an owner
 * @param needsHandle whether the answer must name its owner, because the person typed no name (discoverable credentials)
 * @returns the new counter; undefined if the answer is wrong
 */
export async function verifyAssertion(
  assertion: Assertion,
  { rpId, origin, challenge }: ExpectedPage,
  credential: KnownCredential | undefined,
  { needsHandle }: { needsHandle: boolean },
): Promise<number | undefined> {
  const { id, rawId, type, response } = assertion;
  const { clientDataJSON, authenticatorData, signature, userHandle } = response;
  const parts = [id, clientDataJSON, authenticatorData, signature, userHandle ?? ''];
  if (!parts.every(isCanonical)) return undefined;
  const publicKey = Uint8Array.from(credential?.publicKey ?? keyWithoutOwner());
  if (!isSpelledStrictly(publicKey, signature)) return undefined;
  const counter = await verifyAuthenticationResponse({
    response: {
      id,
      rawId,
      type: type as 'public-key',
      response: { clientDataJSON, authenticatorData, signature },
      clientExtensionResults: {},
    },
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: rpId,
    requireUserVerification: true,
    credential: {
      id,
      publicKey,
      counter: credential?.counter ?? 0,
    },
  }).then(
    ({ verified, authenticationInfo }) => (verified ? authenticationInfo.newCounter : undefined),
    () => undefined,
  );
  if (credential === undefined || counter === undefined) return undefined;
  const isOfOwner = userHandle ? userHandle === idAsBytes(credential.ownerId).toString('base64url') : !needsHandle;
  return isOfOwner ? counter : undefined;
}

function isSpelledStrictly(publicKey: Uint8Array<ArrayBuffer>, signature: string): boolean {
  const isEs256 = decodeCredentialPublicKey(publicKey).get(cose.COSEKEYS.alg) === COSEALG.ES256;
  return !isEs256 || isStrictSignature(Buffer.from(signature, 'base64url'));
}

/** @returns undefined if the answer is wrong, or if its key is none that the service accepts */
export async function verifyRegistration(
  registration: Registration,
  { rpId, origin, challenge }: ExpectedPage,
): Promise<NewCredential | undefined> {
  const { id, rawId, type, response } = registration;
  const { clientDataJSON, attestationObject } = response;
  if (![id, clientDataJSON, attestationObject].every(isCanonical)) return undefined;
  try {
    if (!isWithoutCertificates(attestationObject)) return undefined;
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: {
        id,
        rawId,
        type: type as 'public-key',
        response: { clientDataJSON, attestationObject },
        clientExtensionResults: {},
      },
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: true,
      supportedAlgorithmIDs: [...keyAlgorithms],
    });
    if (!verified) return undefined;
    const { credential, credentialBackedUp } = registrationInfo;
    const credentialId = Buffer.from(credential.id, 'base64url');
    if (credential.id !== id || credentialId.length > passkeyRules.credentialIdBytes) return undefined;
    if (!isAcceptedKey(decodeCredentialPublicKey(credential.publicKey))) return undefined;
    return {
      credentialId,
      publicKey: Buffer.from(credential.publicKey),
      counter: credential.counter,
      isSynced: credentialBackedUp,
    };
  } catch {
    return undefined; // the library throws an error for each fault
  }
}

/**
 * The service asks for no attestation. Authenticators then send none, or sign it with the passkey itself. Other formats contain
 * certificates, and the service does not read certificates of strangers.
 */
function isWithoutCertificates(attestationObject: string): boolean {
  const bytes = Uint8Array.from(Buffer.from(attestationObject, 'base64url'));
  if (bytes.length > passkeyRules.attestationBytes) return false;
  const attestation = decodeAttestationObject(bytes);
  // CBOR has several spellings of the same values, and the library accepts all.
  if (!isoCBOR.encode(attestation as never).every((byte, at) => byte === bytes[at])) return false;
  const format = attestation.get('fmt');
  return format === 'none' || (format === 'packed' && attestation.get('attStmt').get('x5c') === undefined);
}

let decoy: Uint8Array | undefined;

/** @returns the COSE key of a private key that is not kept */
function keyWithoutOwner(): Uint8Array {
  decoy ??= newDecoy();
  return decoy;
}

function newDecoy(): Uint8Array {
  const { x = '', y = '' } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
  const [xBytes, yBytes] = [x, y].map((part) => Uint8Array.from(Buffer.from(part, 'base64url')));
  return isoCBOR.encode(
    new Map<number, number | Uint8Array>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, xBytes ?? new Uint8Array()],
      [-3, yBytes ?? new Uint8Array()],
    ]),
  );
}
