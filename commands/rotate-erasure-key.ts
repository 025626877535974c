/**
 * `node dist/main.js rotate-erasure-key` makes the next key that signs certificates of erasure (ERS-31). The command may run while the
 * service runs.
 */
import { readConfig, type Config } from '../config.ts';
import { rotateSigningKey } from '../domain/erasures/certificates/signing-keys.ts';
import { readVault } from '../platform/infra/keys/open-vault.ts';
import { Database } from '../platform/infra/postgres/database.ts';
import { openDatabase, runOnce } from '../platform/infra/process.ts';

/** Prints the id of the new key. @returns the exit code */
export async function rotateErasureKey(
  settings: Pick<Config, 'database' | 'masterKey' | 'formerMasterKeys'>,
  print: (line: string) => void,
): Promise<number> {
  const source = await openDatabase(settings.database, 'club-rotate-erasure-key');
  try {
    const db = new Database(source, { notify() {} });
    print(
      `certificates of erasure are signed with the key ${await rotateSigningKey(db, await readVault(db, settings))}`,
    );
    return 0;
  } finally {
    await source.destroy();
  }
}

/** The command `rotate-erasure-key`. */
export async function main(): Promise<void> {
  await runOnce('The key was not rotated', () =>
    rotateErasureKey(readConfig(), (line) => process.stdout.write(`${line}\n`)),
  );
}
