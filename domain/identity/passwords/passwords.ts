/** Hashes and checks passwords with argon2id. A check takes the same time whether the account exists or not. */
import { hash, verify } from '@node-rs/argon2';

/** The parameters that OWASP recommends first for argon2id. A hash takes some 20 ms of one core. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

export function hashPassword(password: string): Promise<string> {
  return hash(password.normalize('NFC'), cost);
}

/**
 * A hash of a random password. If there is no account, this hash is checked, so that the check takes the same time as for an existing
 * account.
 */
const unknownHash = hash(crypto.randomUUID(), cost);

/**
 * @param passwordHash null if there is no account, or if the account has no password. Then the result is false, but the check takes the
 * same time
 */
export async function passwordMatches(password: string, passwordHash: string | null): Promise<boolean> {
  const matches = await verify(passwordHash ?? (await unknownHash), password.normalize('NFC'));
  return matches && passwordHash !== null;
}
