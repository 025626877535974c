/**
 * The keys that sign certificates of erasure (ERS-31): Ed25519, made by the deployment itself, sealed in `vault_secrets`. The key with the
 * highest number signs. The private parts of older keys are deleted, and their public parts stay published.
 */
import { generateKeyPairSync } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import type { Database, Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';

const prefix = 'erasure key ';

/** A private key in the form of RFC 8037. */
export interface SigningKey {
  kid: string;
  x: string;
  d: string;
}

/** A stored key. `d` is absent once a newer key signs. */
interface StoredKey {
  number: number;
  kid: string;
  x: string;
  d?: string;
}

/**
 * @returns the key that signs now. The first call in a deployment makes it; of two processes at the same time one makes it
 * @throws SealUnreadable if the master key of the stored key is missing
 */
export async function signingKeyOf(db: Database, vault: Vault): Promise<SigningKey> {
  const { kid, x, d } = newestOf(await keysOf(db, vault));
  if (d === undefined) throw new Error('The newest key of certificates of erasure has no private part');
  return { kid, x, d };
}

/** @returns every public key, the newest first, as a JSON Web Key Set (RFC 7517). The first call in a deployment makes the first key */
export async function publishedKeys(db: Database, vault: Vault): Promise<RecordOf<'ErasureKeys'>> {
  const keys = await keysOf(db, vault);
  return { keys: keys.map(({ kid, x }) => ({ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig', kid, x })) };
}

/**
 * Makes the next key, and deletes the private part of the others in the same transaction.
 * @returns the `kid` of the new key
 */
export async function rotateSigningKey(db: Database, vault: Vault): Promise<string> {
  await keysOf(db, vault);
  return db.transaction(async (tx) => {
    await tx.run(sql`SELECT FROM vault_secrets WHERE name LIKE ${`${prefix}%`} ORDER BY name FOR UPDATE`);
    const before = await readKeys(tx, vault);
    await makeKey(tx, vault, newestOf(before).number + 1);
    for (const { number, kid, x } of before)
      await tx.run(
        sql`UPDATE vault_secrets SET sealed = ${sealed(vault, number, { kid, x })} WHERE name = ${nameOf(number)}`,
      );
    return newestOf(await readKeys(tx, vault)).kid;
  });
}

async function keysOf(db: Database, vault: Vault): Promise<StoredKey[]> {
  const stored = await readKeys(db, vault);
  if (stored.length > 0) return stored;
  await makeKey(db, vault, 1);
  return readKeys(db, vault); // Another process may have been faster.
}

const nameOf = (number: number): string => `${prefix}${number}`;

const sealed = (vault: Vault, number: number, key: { kid: string; x: string; d?: string }): Buffer =>
  vault.seal(JSON.stringify(key), nameOf(number));

/** Does nothing if the number exists. */
async function makeKey(db: Queries | Transaction, vault: Vault, number: number): Promise<void> {
  const { x = '', d = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const key = { kid: await calculateJwkThumbprint({ kty: 'OKP', crv: 'Ed25519', x } satisfies JWK), x, d };
  await db.run(
    sql`INSERT INTO vault_secrets (name, sealed) VALUES (${nameOf(number)}, ${sealed(vault, number, key)}) ON CONFLICT DO NOTHING`,
  );
}

async function readKeys(db: Queries, vault: Vault): Promise<StoredKey[]> {
  const rows = await db.rows<{ name: string; sealed: Buffer }>(
    sql`SELECT name, sealed FROM vault_secrets WHERE name LIKE ${`${prefix}%`}`,
  );
  return rows
    .map((row) => ({
      ...(JSON.parse(vault.open(row.sealed, row.name)) as Omit<StoredKey, 'number'>),
      number: Number(row.name.slice(prefix.length)),
    }))
    .toSorted((one, other) => other.number - one.number);
}

function newestOf([newest]: readonly StoredKey[]): StoredKey {
  if (!newest) throw new Error('The key of certificates of erasure was not stored');
  return newest;
}
