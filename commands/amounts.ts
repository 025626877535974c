/**
 * `node dist/main.js amounts` lists purchases whose stored amount may be wrong. Versions up to 0.2.0 took the number of decimals from the
 * display rules of the JavaScript runtime. They also accepted a text as an amount in smallest units. The command changes nothing and may
 * run
 * beside the service.
 */
import { readConfig, type Config } from '../config.ts';
import { amountsFromText, roundedAmounts, type DoubtfulAmount } from '../domain/sales/doubtful-amounts.ts';
import { Database } from '../platform/infra/postgres/database.ts';
import { openDatabase, runOnce } from '../platform/infra/process.ts';

/**
 * Prints a line for each purchase whose amount may be wrong, without personal data of the buyer. Then prints the number of these purchases.
 * @returns the exit code: 0 if no amount may be wrong, otherwise 1
 */
export async function listAmounts(
  { database }: Pick<Config, 'database'>,
  print: (line: string) => void,
): Promise<number> {
  const source = await openDatabase(database, 'club-amounts');
  try {
    const db = new Database(source, { notify() {} });
    let rounded = 0;
    for await (const one of roundedAmounts(db)) {
      rounded++;
      print(lineOf(one));
    }
    let texts = 0;
    for await (const one of amountsFromText(db)) {
      texts++;
      print(lineOf(one));
    }
    print(`rounded ${rounded}, from text ${texts}`);
    return rounded + texts === 0 ? 0 : 1;
  } finally {
    await source.destroy();
  }
}

function lineOf({ clubId, purchaseId, amount, currency, doubt }: DoubtfulAmount): string {
  const why =
    doubt === 'text'
      ? 'its notice states a text: compare it with the platform'
      : `rounded: about ${BigInt(amount) * BigInt(doubt.factor)} is right`;
  return `club ${clubId} purchase ${purchaseId}: ${amount} ${currency}, ${why}`;
}

/** The command `amounts`. */
export async function main(): Promise<void> {
  await runOnce('The amounts cannot be listed', () =>
    listAmounts(readConfig(), (line) => process.stdout.write(`${line}\n`)),
  );
}
