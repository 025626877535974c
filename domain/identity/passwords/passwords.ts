/** Hashes and checks passwords with argon2id. A check takes the same time whether the account exists or not. */
import { hash, verify } from '@node-rs/argon2';

/** The first recommendation of OWASP for argon2id. A hash takes some 20 ms of one core. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

export function hashPassword(password: string): Promise<string> {
  return hash(password.normalize('NFC'), cost);
}

/** A hash of a random password. It is checked if there is no account, so that both cases take the same time. */
const unknownHash = hash(crypto.randomUUID(), cost);

/** @param passwordHash null if there is no account or no password. In both cases the answer is false, after the same time */
export async function passwordMatches(password: string, passwordHash: string | null): Promise<boolean> {
  const matches = await verify(passwordHash ?? (await unknownHash), password.normalize('NFC'));
  return matches && passwordHash !== null;
}
