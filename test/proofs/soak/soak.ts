/** Runs the soak: steady actions of people, kills, retention, a sample each minute, and the final check. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { readConfig } from '../../../config.ts';
import { components } from '../../../dev/components/catalogue.ts';
import { locate } from '../../../dev/components.ts';
import { startFakeModel, type FakeModel } from '../../../dev/fake-model/fake-model.ts';
import { say } from '../../../dev/problem.ts';
import { projectDirectory } from '../../../dev/project.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import { Database } from '../../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../../platform/infra/postgres/notifications.ts';
import { trouble } from '../faults/agents.ts';
import { waitSpeed } from '../faults/automations/scene.ts';
import { onMailGround, type MailGround } from '../faults/mail/place.ts';
import { progress } from '../faults/progress.ts';
import { closingLines } from './closing.ts';
import { killing } from './kills.ts';
import { lookEachMinute } from './looks.ts';
import { gatherPeople, type People } from './people.ts';
import { secondOf, type Second } from './seconds.ts';

const hourMs = 3_600_000;
/** The time limit for the work that is in progress at the end. It is enough for two waits of a mail and a round of the sweeper. */
const endsWithinMs = 12 * 60_000;
const endLook = { everyMs: 2_000, printEvery: 15 };
/** The model is fast, so that an answer takes less than a second. */
const answer = { words: 20, delayMs: 20 };

/** @returns the exit code */
export async function soak(hours: number, interrupted: Promise<unknown>): Promise<number> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'club-learning-soak-'));
  const model = await startFakeModel();
  const words = Array.from({ length: answer.words }, (_, index) => `word${index} `);
  model.rule(() => ({ answer: words, delayMs: answer.delayMs, ...trouble() }));
  const seconds: Second[] = [];
  const probe = pathToFileURL(path.join(projectDirectory, 'test/proofs/soak/heap-probe.mjs')).href;
  try {
    const env = {
      AUTOMATION_WAIT_SPEED: String(waitSpeed),
      MAIL_WARM_UP: 'off',
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: 'unused',
      FFMPEG_BINARY: await locate(components.ffmpeg),
      SOAK_HEAP_DIRECTORY: directory,
      NODE_OPTIONS: `--expose-gc --import=${probe}`,
    };
    const work = (place: MailGround) => live(place, { hours, model, directory, seconds });
    return await onMailGround(interrupted, work, env, ['temporal', 'postgres', 'storage']);
  } finally {
    await Promise.all(seconds.map((second) => second.end()));
    await model.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

interface Run {
  hours: number;
  model: FakeModel;
  directory: string;
  seconds: Second[];
}

async function live(place: MailGround, { hours, model, directory, seconds }: Run): Promise<number> {
  const { ground } = place;
  const { stack, urls } = ground;
  const config = readConfig(ground.env);
  const source = await createDataSource(config.database, 'club-soak').initialize();
  const db = new Database(
    source,
    createNotifier(source, () => {}),
  );
  const ms = hours * hourMs;
  const [worker, api] = [secondOf(ground, 'worker', directory), secondOf(ground, 'API', directory)];
  seconds.push(worker, api);
  await Promise.all([worker.start(), api.start()]);
  const eitherApi = () => (Math.random() < 0.5 ? urls.API : api.url);
  const people = await gatherPeople(place, { db, model, ms, eitherApi });
  const killSchedule = killing(place, { worker, api }, ms);
  const pids = () => ({
    ...ground.pids,
    'second worker': worker.pid,
    'second API': api.pid,
    Temporal: stack.pids.temporal,
    Postgres: stack.pids.postgres,
    S3: stack.pids.storage,
    'soak itself': process.pid,
  });
  const lastKill = () => (killSchedule.kills.length > 0 ? ` (last: ${killSchedule.kills.at(-1)})` : '');
  const standing = () => `${people.standing()}; ${killSchedule.kills.length} kills${lastKill()}`;

  progress(
    `everything is up; people are busy for ${hours} h, and something is killed every ${(killSchedule.paceMs / 60_000).toFixed(1)} min`,
  );
  const beganAt = performance.now();
  const remainingMs = () => ms - (performance.now() - beganAt);
  const [samples] = await Promise.all([
    lookEachMinute({ source, temporal: config.temporal, pids, directory, standing }, remainingMs),
    people.act(remainingMs),
    killSchedule.run(remainingMs),
  ]);
  progress('people have stopped; waiting for the open work');
  await untilAllHaveEnded(people);

  const tally = await people.tally();
  await people.close();
  await source.destroy();
  const { endedByItself } = ground;
  closingLines(tally, samples, { hours, kills: killSchedule.kills.length, endedByItself }).forEach(say);
  return tally.lostFacts.length + tally.twice.length === 0 ? 0 : 1;
}

/** Returns when all work has ended, or at the time limit. The final check reports unfinished work. */
async function untilAllHaveEnded(people: People): Promise<void> {
  const deadline = performance.now() + endsWithinMs;
  for (let looks = 0; performance.now() < deadline; looks++) {
    const openWork = Object.entries(await people.underWay()).filter(([, count]) => count > 0);
    if (openWork.length === 0) return;
    if (looks % endLook.printEvery === 0)
      progress(`under way: ${openWork.map(([name, count]) => `${name} ${count}`).join(', ')}`);
    await sleep(endLook.everyMs);
  }
  people.giveUp();
  progress('the time is over');
}
