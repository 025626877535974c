/**
 * `npm run prove -- verify keys` changes the master key by the steps of docs/how-to/change-the-master-key.md. Two API processes and two
 * workers handle work during the change. At each step, one API process and one worker change first, and the others later. The proof kills
 * `reseal` twice, and runs two `reseal` processes at the same time. No value may be lost, refused or unreadable, and the service must work
 * without the
 * former key.
 */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../../config.ts';
import { startChild, type Child } from '../../../dev/stack/children.ts';
import { freePorts } from '../../../dev/stack/ports.ts';
import { Problem } from '../../../dev/problem.ts';
import { projectDirectory, scriptArguments } from '../../../dev/project.ts';
import { untilOk } from '../../../dev/stack/readiness.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import { Secret } from '../../../platform/core/secret.ts';
import { Database } from '../../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../../platform/infra/postgres/notifications.ts';
import { createVault, keyIdOf } from '../../../platform/infra/keys/vault.ts';
import { progress } from '../faults/progress.ts';
import { onGround, type Ground } from '../faults/victims.ts';
import { beginLoad } from './keys/load.ts';
import { fillUnder, readAll, valuesNotUnder } from './keys/values.ts';
import type { Site } from './site.ts';

const fillCounts = { notices: 40_000, endpoints: 2_000 };
/** The proof kills `reseal` twice: each time when this share of all values still has to be sealed with the current key. */
const killedAtShares = [0.7, 0.3];
/** The time between two steps. The load continues during this time. */
const betweenStepsMs = 6_000;
const readyWithinMs = 120_000;
const lookEveryMs = 20;

const [before, after] = [randomBytes(32), randomBytes(32)].map((bytes) => new Secret(bytes)) as [
  Secret<Buffer>,
  Secret<Buffer>,
];
const text = (key: Secret<Buffer>) => key.reveal().toString('base64');
const steps = {
  'before the change': { MASTER_KEY: text(before), MASTER_KEYS_OLD: '' },
  'the new key is readable': { MASTER_KEY: text(before), MASTER_KEYS_OLD: text(after) },
  'the new key is current': { MASTER_KEY: text(after), MASTER_KEYS_OLD: text(before) },
  'the former key is removed': { MASTER_KEY: text(after), MASTER_KEYS_OLD: '' },
} as const;
type Step = keyof typeof steps;

/** @throws Problem with the fault */
export async function verifyKeys({ directory, stops }: Site): Promise<string> {
  const line = await onGround(
    new Promise<never>(() => undefined),
    (ground) => changeKeys(ground, directory, stops),
    steps['before the change'],
  );
  if (line === undefined) throw new Problem('The change of the key was interrupted');
  return line;
}

async function changeKeys(ground: Ground, directory: string, stops: Site['stops']): Promise<string> {
  const source = await createDataSource(readConfig(ground.env).database, 'club-verify').initialize();
  const db = new Database(
    source,
    createNotifier(source, () => {}),
  );
  const fleet = fleetOn(ground, directory);
  stops.push(fleet.stop);
  await fleet.move('before the change');
  await fillUnder(db, createVault(before), fillCounts);
  const load = await beginLoad(ground, db, createVault(before), fleet.apiUrls);
  stops.push(load.stop);
  await sleep(betweenStepsMs);

  for (const step of ['the new key is readable', 'the new key is current'] as const) {
    await fleet.move(step);
    await sleep(betweenStepsMs);
    await load.expectLinks(200);
  }
  const current = keyIdOf(after);
  const countOldValues = () => valuesNotUnder(db, current);
  const oldValueCount = await countOldValues();
  progress(`${oldValueCount} values are not under the new key`);
  for (const [kill, share] of killedAtShares.entries()) {
    await killReseal(ground, directory, `killed-${kill}`, async () => (await countOldValues()) < oldValueCount * share);
    progress(`reseal was killed; ${await countOldValues()} values are not under the new key`);
  }
  const ends = await Promise.all(['one', 'other'].map((name) => resealToItsEnd(ground, directory, name)));
  for (const lines of ends) progress(lines);
  await load.expectLinks(200);
  const remainingCount = await countOldValues();

  await fleet.move('the former key is removed');
  await sleep(betweenStepsMs);
  await load.expectLinks(404);
  await load.finish();
  const unreadable = await readAll(db, createVault(after));
  await expectNoStartWith(ground, directory, { MASTER_KEY: text(before), MASTER_KEYS_OLD: '' });
  await source.destroy();
  return `resealed ${oldValueCount - remainingCount}, left ${remainingCount}, unreadable ${unreadable}`;
}

/** Runs two API processes and two workers. At each step, one API process and one worker change first, and the others later. */
function fleetOn(ground: Ground, directory: string) {
  const second: Child[] = [];
  const urls: string[] = [ground.urls.API];
  let lives = 0;
  const stopSecond = () => Promise.all(second.splice(0).map((child) => child.stop()));
  return {
    apiUrls: () => urls,
    stop: stopSecond,
    async move(step: Step): Promise<void> {
      progress(`step: ${step}`);
      await stopSecond();
      const ports = await freePorts(['api', 'files', 'worker'] as const);
      const env = {
        ...ground.env,
        ...steps[step],
        API_PORT: String(ports.api),
        API_METRICS_PORT: '0',
        FILES_PORT: String(ports.files),
        WORKER_PORT: String(ports.worker),
      };
      lives += 1;
      const start = async (name: string, script: string, port: number) => {
        const child = startChild({
          name,
          command: process.execPath,
          args: scriptArguments(script),
          env,
          cwd: projectDirectory,
          logFile: path.join(directory, `${name}-${lives}.log`),
        });
        second.push(child);
        await untilOk(`http://127.0.0.1:${port}/readyz`, { timeoutMs: readyWithinMs, child });
      };
      await Promise.all([
        start('second API', 'api/server.ts', ports.api),
        start('second worker', 'worker/main.ts', ports.worker),
      ]);
      urls[1] = `http://127.0.0.1:${ports.api}`;
      if (step === 'before the change') return;
      progress('one API process and one worker have the new settings, the others not yet');
      await sleep(betweenStepsMs);
      ground.configure(steps[step]);
      for (const victim of ['API', 'worker'] as const) {
        await ground.kill(victim);
        await ground.startAgain(victim);
      }
    },
  };
}

function startReseal(ground: Ground, directory: string, name: string): Child {
  return startChild({
    name: 'reseal',
    command: process.execPath,
    args: scriptArguments('commands/reseal.ts'),
    env: { ...ground.env },
    cwd: projectDirectory,
    logFile: path.join(directory, `reseal-${name}.log`),
  });
}

/** Kills `reseal` when the condition is true. */
async function killReseal(
  ground: Ground,
  directory: string,
  name: string,
  isReached: () => Promise<boolean>,
): Promise<void> {
  const child = startReseal(ground, directory, name);
  let hasEnded = false;
  void child.exited.then(() => (hasEnded = true));
  while (!hasEnded && !(await isReached())) await sleep(lookEveryMs);
  if (hasEnded || child.pid === undefined)
    throw new Problem(`reseal ended before it could be killed:\n${child.lastLines(20)}`);
  process.kill(child.pid, 'SIGKILL');
  await child.exited;
}

async function resealToItsEnd(ground: Ground, directory: string, name: string): Promise<string> {
  const child = startReseal(ground, directory, name);
  const { code } = await child.exited;
  const [last] = /resealed \d+, left 0, unreadable 0$/.exec(child.lastLines(1).trim()) ?? [];
  if (code !== 0 || last === undefined) throw new Problem(`reseal ended with ${code}:\n${child.lastLines(20)}`);
  return last;
}

/** @throws Problem when the API starts anyway */
async function expectNoStartWith(ground: Ground, directory: string, keys: Record<string, string>): Promise<void> {
  const child = startChild({
    name: 'API',
    command: process.execPath,
    args: scriptArguments('api/server.ts'),
    env: { ...ground.env, ...keys, API_PORT: '0', API_METRICS_PORT: '0', FILES_PORT: '0' },
    cwd: projectDirectory,
    logFile: path.join(directory, 'refused.log'),
  });
  const { code } = await child.exited;
  const output = child.lastLines(20);
  if (code !== 1 || !output.includes('the database needs other keys'))
    throw new Problem(`An API with the former key alone ended with ${code}:\n${output}`);
  progress(`an API with the former key alone does not start:\n${output}`);
}
