/** Changes the ID tokens of a local identity provider, and signs them with a key that its key set then names. */
import type { webcrypto } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose';
import type { AlterAnswer, FrontAnswer } from '../../../dev/identity-provider/provider.ts';

export interface FlawedTokens {
  /** Signs tokens with changed claims, with a key of the key set. */
  withClaims(change: (claims: JWTPayload) => JWTPayload): AlterAnswer;
  /** Signs the unchanged claims with another key that has the id of the named key. */
  withForeignKey: AlterAnswer;
  /** Signs with the client secret (HS256). */
  withSecret(secret: string): AlterAnswer;
  /** Does not sign (`alg: none`). */
  unsigned: AlterAnswer;
  /** Signs with a new key of the key set. */
  withNewKey(): Promise<AlterAnswer>;
}

const alg = 'RS256';
const json = { 'content-type': 'application/json' };

const claimsIn = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')) as JWTPayload;

export async function flawedTokens(): Promise<FlawedTokens> {
  const [own, foreign] = [await generateKeyPair(alg), await generateKeyPair(alg)];
  const altering =
    (kid: string, key: webcrypto.CryptoKey, sign: (claims: JWTPayload) => Promise<string> | string): AlterAnswer =>
    async (path, answer) => {
      if (path === '/jwks')
        return replaced(answer, async () => ({ keys: [{ ...(await exportJWK(key)), kid, alg, use: 'sig' }] }));
      if (path !== '/token' || answer.status !== 200) return answer;
      return replaced(answer, async (body) => ({ ...body, id_token: await sign(claimsIn(String(body['id_token']))) }));
    };
  const signedBy = (kid: string, key: webcrypto.CryptoKey) => (claims: JWTPayload) =>
    new SignJWT(claims).setProtectedHeader({ alg, kid }).sign(key);
  return {
    withClaims: (change) => altering('own', own.publicKey, (claims) => signedBy('own', own.privateKey)(change(claims))),
    withForeignKey: altering('own', own.publicKey, signedBy('own', foreign.privateKey)),
    withSecret: (secret) =>
      altering('own', own.publicKey, (claims) =>
        new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(secret)),
      ),
    unsigned: altering('own', own.publicKey, (claims) => new UnsecuredJWT(claims).encode()),
    async withNewKey() {
      const { publicKey, privateKey } = await generateKeyPair(alg);
      const kid = `key ${Math.random()}`;
      return altering(kid, publicKey, signedBy(kid, privateKey));
    },
  };
}

async function replaced(
  answer: FrontAnswer,
  change: (body: Record<string, unknown>) => Promise<Record<string, unknown>>,
): Promise<FrontAnswer> {
  const body = await change(JSON.parse(answer.body.toString('utf8')) as Record<string, unknown>);
  return { ...answer, headers: { ...answer.headers, ...json }, body: Buffer.from(JSON.stringify(body)) };
}

/** Replaces members of the JSON answer of one path. */
export const withMembers =
  (of: string, members: Readonly<Record<string, unknown>>): AlterAnswer =>
  (path, answer) =>
    path === of ? replaced(answer, async (body) => ({ ...body, ...members })) : answer;
