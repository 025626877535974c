/** Passwords: argon2id, and the same time spent whether or not there is an account. */
import { hash, verify } from '@node-rs/argon2';

/** OWASP's first recommendation for argon2id; some 20 ms of one core. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

export function hashPassword(password: string): Promise<string> {
  return hash(password.normalize('NFC'), cost);
}

/** A hash that no password is known for: checked against when there is no account, so that both take the same time. */
const nobody = hash(crypto.randomUUID(), cost);

/** @param passwordHash null where there is no account or it has no password: the answer is no, as late as for any other */
export async function passwordMatches(password: string, passwordHash: string | null): Promise<boolean> {
  const matches = await verify(passwordHash ?? (await nobody), password.normalize('NFC'));
  return matches && passwordHash !== null;
}
