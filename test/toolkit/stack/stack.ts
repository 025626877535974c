/**
 * The real stack that tests run against: Temporal, Postgres, S3 and the mailbox on free ports, one for the whole run,
 * started by the first test that asks for it, so that tests of pure functions need none.
 */
import { readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { isAlive } from '../../../dev/children.ts';
import { startStack, type Stack } from '../../../dev/stack.ts';

const directoryPrefix = 'club-learning-test-';

let running: Promise<Stack> | undefined;

/**
 * The stack of this run. Its environment is in `process.env` too from then on, for `readConfig()` and child processes.
 * A variable such as DATABASE_URL that was set before replaces that part; its data are then not thrown away.
 */
export function testStack(): Promise<Stack> {
  running ??= start();
  return running;
}

/** Stops what {@link testStack} started, and removes its data; nothing when no test asked for it. */
export async function stopTestStack(): Promise<void> {
  // A stack that did not start has stopped itself.
  const stack = await running?.catch(() => undefined);
  running = undefined;
  await stack?.stop();
  await rm(directoryOf(process.pid), { recursive: true, force: true });
}

async function start(): Promise<Stack> {
  await removeLeftovers();
  const stack = await startStack({
    directory: directoryOf(process.pid),
    ports: 'free',
    onUnexpectedEnd: (message) => process.stderr.write(`${message}\n`),
  });
  Object.assign(process.env, stack.environment);
  return stack;
}

/** The data of runs that were killed; the directory's name says whose they were. */
async function removeLeftovers(): Promise<void> {
  const names = (await readdir(os.tmpdir())).filter((name) => name.startsWith(directoryPrefix));
  const dead = names
    .map((name) => Number(name.slice(directoryPrefix.length)))
    .filter((pid) => pid === process.pid || !isAlive(pid));
  await Promise.all(dead.map((pid) => rm(directoryOf(pid), { recursive: true, force: true })));
}

function directoryOf(pid: number): string {
  return path.join(os.tmpdir(), `${directoryPrefix}${pid}`);
}
