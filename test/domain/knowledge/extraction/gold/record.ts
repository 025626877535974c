/**
 * Writes known-faults.json again from the current results of the readers: `node --import ./platform/load.mjs
 * test/domain/knowledge/extraction/gold/record.ts`. The change has caused every added fault: look at the difference.
 */
import { writeFile } from 'node:fs/promises';
import { knownFaultsFile, readGoldSet } from '../../../../../bench/extraction/gold.ts';
import { judge } from '../../../../../bench/extraction/judge.ts';
import { readGold } from '../../../../../bench/extraction/suite.ts';

const faults: Record<string, string[]> = {};
for (const gold of await readGoldSet()) {
  const own = judge(gold, await readGold(gold)).faults;
  if (own.length > 0) faults[gold.file] = own;
}
await writeFile(knownFaultsFile, `${JSON.stringify(faults, null, 2)}\n`);
