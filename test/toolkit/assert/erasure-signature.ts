/** Verifies certificates of erasure as an outsider does: with the published keys and Node's own Ed25519, without code of the product. */
import { createPublicKey, verify, type JsonWebKey } from 'node:crypto';

/**
 * @param signature a compact JSON Web Signature
 * @param keys the answer of `GET /.well-known/erasure-keys.json`
 * @returns the payload, or undefined if the signature is wrong
 */
export function verifiedPayload(
  signature: string,
  keys: { keys: (JsonWebKey & { kid: string })[] },
): string | undefined {
  const [header = '', payload = '', mark = ''] = signature.split('.');
  const { kid, alg } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string; alg: string };
  const key = keys.keys.find((one) => one.kid === kid);
  if (!key || alg !== 'EdDSA') return undefined;
  const isRight = verify(
    null,
    Buffer.from(`${header}.${payload}`),
    createPublicKey({ key, format: 'jwk' }),
    Buffer.from(mark, 'base64url'),
  );
  return isRight ? Buffer.from(payload, 'base64url').toString() : undefined;
}
