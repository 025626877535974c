/**
 * Decides which public keys a passkey may have: EdDSA with Ed25519, ES256 with P-256, and RS256 with 2,048 to 4,096 bits (PKY-1). A check of
 * a signature then takes less than a millisecond.
 */

/** COSE algorithms in the order in which the service prefers them: EdDSA, ES256, RS256. */
export const keyAlgorithms = [-8, -7, -257] as const;

/** Labels of COSE keys. Some labels have one meaning for each type of key. */
const label = { type: 1, algorithm: 3, curveOrModulus: -1, xOrExponent: -2, y: -3 } as const;

type CoseKey = Readonly<{ get(label: number): unknown }>;

const lengthOf = (value: unknown) => (value instanceof Uint8Array ? value.length : -1);

/** @param key a decoded COSE key. Its values are not trusted */
export function isAcceptedKey(key: CoseKey): boolean {
  const [type, algorithm, first, second] = [
    key.get(label.type),
    key.get(label.algorithm),
    key.get(label.curveOrModulus),
    key.get(label.xOrExponent),
  ];
  if (algorithm === -8) return type === 1 && first === 6 && lengthOf(second) === 32;
  if (algorithm === -7)
    return type === 2 && first === 1 && lengthOf(second) === 32 && lengthOf(key.get(label.y)) === 32;
  if (algorithm === -257) {
    const [modulus, exponent] = [lengthOf(first), lengthOf(second)];
    return type === 3 && modulus >= 256 && modulus <= 512 && exponent >= 1 && exponent <= 4;
  }
  return false;
}

/** The most bytes of an integer of 256 bits in DER: a zero byte may precede it. */
const integerBytes = 33;

/**
 * A signature has other spellings in BER, and the library accepts some. The service accepts only DER, so that no changed byte passes.
 * @param signature of ES256
 * @returns whether the signature is a sequence of two positive integers in DER
 */
export function isStrictSignature(signature: Buffer): boolean {
  if (signature.length < 2 || signature[0] !== 0x30 || signature[1] !== signature.length - 2) return false;
  const afterFirst = endOfInteger(signature, 2);
  return afterFirst !== undefined && endOfInteger(signature, afterFirst) === signature.length;
}

/** @returns the place after the integer; undefined if it is none in DER */
function endOfInteger(bytes: Buffer, at: number): number | undefined {
  const [tag, length = 0, first = 0, second = 0] = bytes.subarray(at, at + 4);
  const hasNeedlessZero = length > 1 && first === 0 && second < 0x80;
  const isInteger = tag === 0x02 && length >= 1 && length <= integerBytes && first < 0x80 && !hasNeedlessZero;
  return isInteger && at + 2 + length <= bytes.length ? at + 2 + length : undefined;
}
