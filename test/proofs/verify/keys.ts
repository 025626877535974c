/**
 * `npm run prove -- verify keys`: the master key is changed by the operator's steps (docs/how-to/change-the-master-key.md), while two API
 * processes and two workers have work, one pair always a step behind the other. `reseal` is killed twice, and run twice at once.
 * Nothing may be lost, refused or unreadable, and without the former key everything must go on.
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

/** Values of each kind of notice and endpoint, besides the load's own. */
const filled = { notices: 40_000, endpoints: 2_000 };
/** `reseal` is killed when so much of what is not under the current key is left. */
const killedAtShares = [0.7, 0.3];
/** How long the load goes on between two steps. */
const betweenStepsMs = 6_000;
const readyWithinMs = 120_000;
const lookEveryMs = 20;

const [before, after] = [randomBytes(32), randomBytes(32)].map((bytes) => new Secret(bytes)) as [
  Secret<Buffer>,
  Secret<Buffer>,
];
const text = (key: Secret<Buffer>) => key.reveal().toString('base64');
/** The variables of each step. */
const steps = {
  'as it was': { MASTER_KEY: text(before), MASTER_KEYS_OLD: '' },
  'the new key can be read': { MASTER_KEY: text(before), MASTER_KEYS_OLD: text(after) },
  'the new key is current': { MASTER_KEY: text(after), MASTER_KEYS_OLD: text(before) },
  'the former key is gone': { MASTER_KEY: text(after), MASTER_KEYS_OLD: '' },
} as const;
type Step = keyof typeof steps;

/** @returns the line that the proof ends with @throws Problem saying what is not as it should be */
export async function verifyKeys({ directory, stops }: Site): Promise<string> {
  const line = await onGround(
    new Promise<never>(() => undefined),
    (ground) => changeKeys(ground, directory, stops),
    steps['as it was'],
  );
  if (line === undefined) throw new Problem('The change of the key was interrupted.');
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
  await fleet.move('as it was');
  await fillUnder(db, createVault(before), filled);
  const load = await beginLoad(ground, db, createVault(before), fleet.apiUrls);
  stops.push(load.stop);
  await sleep(betweenStepsMs);

  for (const step of ['the new key can be read', 'the new key is current'] as const) {
    await fleet.move(step);
    await sleep(betweenStepsMs);
    await load.expectLinks(200);
  }
  const current = keyIdOf(after);
  const left = () => valuesNotUnder(db, current);
  const found = await left();
  progress(`${found} values are not under the new key`);
  for (const [kill, share] of killedAtShares.entries()) {
    await killReseal(ground, directory, `killed-${kill}`, async () => (await left()) < found * share);
    progress(`reseal was killed; ${await left()} are left`);
  }
  const ends = await Promise.all(['one', 'other'].map((name) => resealToItsEnd(ground, directory, name)));
  for (const lines of ends) progress(lines);
  await load.expectLinks(200);
  const stillThere = await left();

  await fleet.move('the former key is gone');
  await sleep(betweenStepsMs);
  await load.expectLinks(404);
  await load.finish();
  const unreadable = await readAll(db, createVault(after));
  await expectNoStartWith(ground, directory, { MASTER_KEY: text(before), MASTER_KEYS_OLD: '' });
  await source.destroy();
  return `resealed ${found - stillThere}, left ${stillThere}, unreadable ${unreadable}`;
}

/** Two API processes and two workers: a step is taken by one pair, and only later by the other. */
function fleetOn(ground: Ground, directory: string) {
  const second: Child[] = [];
  const urls: string[] = [ground.urls.API];
  let lives = 0;
  const stopSecond = () => Promise.all(second.splice(0).map((child) => child.stop()));
  return {
    /** Where the API answers, by either process. */
    apiUrls: () => urls,
    stop: stopSecond,
    /** @throws Error when a process does not come up */
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
      if (step === 'as it was') return;
      progress('one pair has taken it, the other has not');
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

/** Kills it as soon as it has come so far. @throws Problem where it ended before */
async function killReseal(
  ground: Ground,
  directory: string,
  name: string,
  isFar: () => Promise<boolean>,
): Promise<void> {
  const child = startReseal(ground, directory, name);
  let ended = false;
  void child.exited.then(() => (ended = true));
  while (!ended && !(await isFar())) await sleep(lookEveryMs);
  if (ended || child.pid === undefined)
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

/** @throws Problem when the API starts all the same */
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
  const said = child.lastLines(20);
  if (code !== 1 || !said.includes('the database needs other keys'))
    throw new Problem(`An API with the former key alone ended with ${code}:\n${said}`);
  progress(`an API with the former key alone does not start:\n${said}`);
}
