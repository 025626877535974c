/** Runs only the development stack, until Ctrl-C; temporal-dev.sh starts it. */
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { interruption } from './interruption.ts';
import { runScript, say } from './problem.ts';
import { dataDirectory } from './project.ts';
import { startStack } from './stack/stack.ts';

/** Tells the parent process, `npm start`, that the whole stack is ready. */
export interface StackIsUp {
  readonly environment: Readonly<Record<string, string>>;
}

/** People can use this file to run a program against the stack: `node --env-file=.data/dev/environment …`. */
const environmentFile = path.join(dataDirectory, 'environment');

const addresses = [
  ['Temporal', 'TEMPORAL_ADDRESS'],
  ['Temporal UI', 'TEMPORAL_UI_URL'],
  ['Postgres', 'DATABASE_URL'],
  ['S3', 'S3_ENDPOINT'],
  ['SMTP', 'SMTP_URL'],
  ['Mailbox', 'MAILBOX_URL'],
] as const;

async function serve(): Promise<number> {
  const interrupted = interruption();
  let reportEnd: (message: string) => void = () => undefined;
  const ended = new Promise<string>((resolve) => (reportEnd = resolve));

  const starting = startStack({ directory: dataDirectory, ports: 'fixed', report: say, onUnexpectedEnd: reportEnd });
  const stack = await Promise.race([starting, interrupted.then(() => undefined)]);
  // When this process ends, servers that are still starting end, too (children.ts).
  if (stack === undefined) return 1;

  const lines = Object.entries(stack.environment).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(environmentFile, lines.join(''), { mode: 0o600 });
  say('');
  for (const [title, name] of addresses) say(`  ${title.padEnd(12)} ${withoutPassword(stack.environment[name])}`);
  say(`  (with passwords: ${path.relative(process.cwd(), environmentFile)})\n`);
  process.send?.({ environment: stack.environment } satisfies StackIsUp);

  const death = await Promise.race([interrupted.then(() => undefined), ended]);
  if (death !== undefined) say(`\n${death}`);
  say('Stopping the development stack …');
  await rm(environmentFile, { force: true });
  await stack.stop();
  return death === undefined ? 0 : 1;
}

function withoutPassword(address = 'left out'): string {
  return address.replace(/:[^:@/]+@/, ':…@');
}

await runScript(serve);
