/**
 * `npm run prove -- faults media`: files are uploaded, published, replaced, deleted, and written after their deletion without a pause while
 * the API, the worker, S3 and Postgres are killed and started again in turn, the worker at each step of a file and of a move. No file may
 * be lost or counted twice, no object may be without a row, and the storage must be the sum of what exists.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../../config.ts';
import { components } from '../../../dev/components/catalogue.ts';
import { locate } from '../../../dev/components.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import { realVideo } from '../../toolkit/builders/real-videos.ts';
import { createErrands, errandsOfAClub, type Errands, type Told } from './media/errands.ts';
import { buildLibraries, type Library } from './media/libraries.ts';
import { tallyFiles, unfinished, verdictOf } from './media/tally.ts';
import { elapsedSeconds, progress } from './progress.ts';
import { between } from './ranges.ts';
import { killAtStep } from './steps.ts';
import { killInTurn } from './turns.ts';
import { onGround, type Ground, type Victim } from './victims.ts';

const files = 600;
/** Of each, twelve files: a club may write 60 times a minute, repetitions included. */
const clubs = 50;
const errands = clubs * errandsOfAClub;
const clients = 20;
/** Between two errands of a client. */
const pauseMs = { least: 0, most: 1_000 };
const rounds = 3;
/** How long things go well before a kill, and how long what was killed stays dead. */
const aliveForMs = { least: 500, most: 4_000 };
const deadForMs = { least: 0, most: 3_000 };
/** Work that lags is waited for so long, so that the last kills meet files as well. */
const patienceMs = 20_000;
/** Leases of 10 s, pauses after faults, and the sweeper's two minutes. */
const deadlineMs = 10 * 60_000;

/** The steps of a file, and of one that changes its bucket, that the worker is killed at. */
const failpoints = [
  'file_claimed',
  'file_identified',
  'file_rendered',
  'file_recorded',
  'move_claimed',
  'move_copied',
  'move_recorded',
] as const;
const victims = ['API', 'S3', 'Postgres', ...failpoints] as const;
type MediaVictim = (typeof victims)[number];

/** @returns the exit code: 0 when nothing was lost, counted twice or left over */
export async function mediaFaults(interrupted: Promise<unknown>): Promise<number> {
  const env = { FFMPEG_BINARY: await locate(components.ffmpeg), WORKER_TASK_QUEUES: 'media,moves,upkeep' };
  return (await onGround(interrupted, workWhileKilling, env, ['temporal', 'postgres', 'storage'])) ?? 130;
}

async function workWhileKilling(ground: Ground): Promise<number> {
  const source = await createDataSource(readConfig(ground.env).database, 'club-faults').initialize();
  const libraries = await buildLibraries(source, clubs);
  const doing = createErrands(ground.urls.API, await realVideo('640x480'));
  const work = begin(doing, libraries);
  const begun = elapsedSeconds();
  work.done.catch(() => undefined); // told below
  let missed = 0;
  const isFailpoint = (victim: MediaVictim): victim is (typeof failpoints)[number] =>
    failpoints.some((name) => name === victim);
  let turn = 0;
  const kills = await killInTurn({
    victims,
    rounds,
    deadForMs,
    async beforeKill() {
      await sleep(between(aliveForMs));
      const ends = elapsedSeconds() + patienceMs / 1_000;
      while (work.left() > clients && elapsedSeconds() < ends) await sleep(100);
    },
    async kill(victim) {
      turn += 1;
      work.allow(Math.ceil((errands * turn) / (rounds * victims.length)));
      if (!isFailpoint(victim)) return ground.kill(victim);
      missed += (await killAtStep(ground, victim)) ? 0 : 1;
    },
    startAgain: (victim) => ground.startAgain(ofGround(victim)),
    standing: () => `${work.told.length} files told of`,
  });
  progress('everything is up again; waiting for the last files');
  await work.done;
  const ends = elapsedSeconds() + deadlineMs / 1_000;
  for (let left = await unfinished(source); left > 0 && elapsedSeconds() < ends; left = await unfinished(source))
    await sleep(1_000);

  const result = await tallyFiles(source, readConfig(ground.env).storage, work.told);
  await source.destroy();
  print(
    `${kills.length} kills in ${(elapsedSeconds() - begun).toFixed(0)} s, ${missed} of them not at their step; processes that ended by themselves: ${ground.endedByItself}`,
  );
  print(`resumable uploads were cut ${doing.cuts} times`);
  const { lines, isFine } = verdictOf({ told: work.told.length, expected: files }, result);
  lines.forEach(print);
  return isFine ? 0 : 1;

  function ofGround(victim: MediaVictim): Victim {
    return isFailpoint(victim) ? 'worker' : victim;
  }
}

interface Work {
  readonly told: Told[];
  /** Rejects at a refusal. */
  readonly done: Promise<unknown>;
  /** So many errands in all may be begun: each kill meets its share. */
  allow(count: number): void;
  /** Of those that are allowed, how many have not ended. */
  left(): number;
}

function begin(doing: Errands, libraries: readonly Library[]): Work {
  const told: Told[] = [];
  let [allowed, next, ended] = [0, 0, 0];
  async function client(): Promise<void> {
    for (;;) {
      while (next >= allowed && next < errands) await sleep(50);
      const number = next++;
      if (number >= errands) return;
      // Kinds change from one errand to the next, and each club has one of each.
      const club = number % clubs;
      const kind = (club + Math.floor(number / clubs)) % errandsOfAClub;
      const library = libraries[club] as Library;
      told.push(...(await doing.run(club * errandsOfAClub + kind, library)));
      ended += 1;
      await sleep(between(pauseMs));
    }
  }
  return {
    told,
    done: Promise.all(Array.from({ length: clients }, client)),
    allow(count) {
      allowed = count;
    },
    left: () => allowed - ended,
  };
}

const print = (line: string) => process.stdout.write(`${line}\n`);
