/**
 * `node dist/main.js reseal` finds all values that a key of MASTER_KEYS_OLD encrypted, and encrypts them with MASTER_KEY. The command may
 * run while the service runs. It may be killed and restarted at any time. It ends with `resealed …, left …, unreadable …`.
 */
import { readConfig, type Config } from '../config.ts';
import { findLastingKey, idOf, otherKeysNeeded, sentenceOf } from '../platform/infra/keys/open-vault.ts';
import { reseal, type ResealOptions } from '../platform/infra/keys/reseal.ts';
import { sealedColumns } from '../platform/infra/keys/sealed-columns.ts';
import { Database } from '../platform/infra/postgres/database.ts';
import { openDatabase, runOnce } from '../platform/infra/process.ts';
import { createVault } from '../platform/infra/keys/vault.ts';

const rowsNamed = 1_000;
/** After this number of values of a column, the command prints a line of progress. */
const valuesALine = 10_000;

/**
 * Finds all values that were encrypted with another key, encrypts them with the current key, and prints the progress.
 * @returns the exit code: 0 if a pass found no value under another key and no unreadable value
 * @throws StartProblem when Postgres cannot be used, or when the database has no lasting key yet and the configured keys do not belong to
 * this database
 */
export async function resealAll(
  { database, masterKey, formerMasterKeys }: Pick<Config, 'database' | 'masterKey' | 'formerMasterKeys'>,
  print: (line: string) => void,
  { pause }: Pick<ResealOptions, 'pause'> = {},
): Promise<number> {
  const source = await openDatabase(database, 'club-reseal');
  try {
    const db = new Database(source, { notify() {} });
    // First stores the lasting key, with which addresses are hashed. After the reseal, the rows would no longer show which key this was.
    const lasting = await findLastingKey(db, { masterKey, formerMasterKeys });
    if ('problems' in lasting) {
      if (!lasting.isKept) throw otherKeysNeeded({ masterKey, formerMasterKeys }, lasting.problems);
      // A lasting key that cannot be opened does not stop the command, because other values can still be resealed. It is reported like
      // other unreadable values.
      for (const problem of lasting.problems) print(sentenceOf(problem));
    }
    print(
      `the current key is ${idOf(masterKey)}; others: ${formerMasterKeys.map((key) => idOf(key)).join(', ') || 'none'}`,
    );
    const counts = new Map(sealedColumns.map(({ name }) => [name, 0]));
    const vault = createVault(masterKey, { former: formerMasterKeys, namesKeys: true });
    const { resealed, remaining, unreadable } = await reseal(db, vault, {
      ...(pause && { pause }),
      onResealed(column, count) {
        const before = counts.get(column) ?? 0;
        counts.set(column, before + count);
        if (Math.floor((before + count) / valuesALine) > Math.floor(before / valuesALine))
          print(`${column}: ${before + count} so far`);
      },
    });
    for (const [column, count] of counts) print(`${column}: ${count}`);
    for (const { column, id } of unreadable.slice(0, rowsNamed)) print(`unreadable: ${column} of ${id}`);
    if (unreadable.length > rowsNamed) print(`and ${unreadable.length - rowsNamed} more`);
    if (remaining > 0)
      print(
        'Some values are left. Do all processes have the new key as MASTER_KEY? Run this command again once they have.',
      );
    print(`resealed ${resealed}, left ${remaining}, unreadable ${unreadable.length}`);
    return remaining === 0 && unreadable.length === 0 ? 0 : 1;
  } finally {
    await source.destroy();
  }
}

/** The command `reseal`. */
export async function main(): Promise<void> {
  await runOnce('Sealing anew failed', () => resealAll(readConfig(), (line) => process.stdout.write(`${line}\n`)));
}

if (import.meta.main) await main();
