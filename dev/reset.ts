/** `npm run reset`: removes the data of the development stack. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { lockHolder } from './stack/lock.ts';
import { Problem, runScript, say } from './problem.ts';
import { dataDirectory } from './project.ts';
import { removeDataElsewhere } from './stack/postgres-place.ts';

async function reset(): Promise<number> {
  const holder = await lockHolder(dataDirectory);
  if (holder !== undefined) {
    throw new Problem(
      `The development stack is running (process ${holder}): stop it first, with Ctrl-C in its terminal. Nothing was removed.`,
    );
  }
  await removeDataElsewhere(path.join(dataDirectory, 'postgres'));
  await rm(dataDirectory, { recursive: true, force: true });
  say(`Removed ${path.relative(process.cwd(), dataDirectory)}. The next npm start begins without data.`);
  return 0;
}

await runScript(reset);
