/** The secrets of a data directory, in a file that only its owner can read. */
import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

export interface Secrets {
  /** The key has 32 bytes, in base64. */
  readonly masterKey: string;
  readonly postgresPassword: string;
  readonly storageSecretKey: string;
}

/** The first call creates the secrets. Later calls and runs return the stored ones. */
export async function secretsOf(directory: string): Promise<Secrets> {
  const file = path.join(directory, 'secrets.json');
  const found = await read(file);
  if (found) return found;
  const newSecrets: Secrets = {
    masterKey: randomBytes(32).toString('base64'),
    postgresPassword: randomBytes(18).toString('base64url'),
    storageSecretKey: randomBytes(30).toString('base64url'),
  };
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, JSON.stringify(newSecrets), { mode: 0o600 });
  // Unlike a rename, a hard link never replaces a file that another process has just created.
  await link(draft, file).catch(() => undefined);
  await rm(draft, { force: true });
  return (await read(file)) ?? newSecrets;
}

async function read(file: string): Promise<Secrets | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Secrets;
  } catch {
    return undefined;
  }
}
