/**
 * `npm run prove -- faults media`: clients upload, publish, replace and delete files, and also write to deleted files.
 * Meanwhile the proof kills and restarts the API, the worker, S3 and Postgres. It kills the worker at each step of processing and of
 * moving a file. No file may be lost or counted twice, and no object may lack a row. The counted storage must be the sum of
 * the existing files.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../../config.ts';
import { components } from '../../../dev/components/catalogue.ts';
import { locate } from '../../../dev/components.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import { realVideo } from '../../toolkit/builders/real-videos.ts';
import { createErrands, errandsOfAClub, type Errands, type ExpectedFile } from './media/errands.ts';
import { buildLibraries, type Library } from './media/libraries.ts';
import { tallyFiles, unfinished, verdictOf } from './media/tally.ts';
import { elapsedSeconds, progress } from './progress.ts';
import { between } from './ranges.ts';
import { killAtStep } from './steps.ts';
import { killInTurn } from './turns.ts';
import { onGround, type Ground, type Victim } from './victims.ts';

const files = 600;
/** Each club has only twelve files, because a club may write 60 times a minute, and repeated calls count towards this limit. */
const clubs = 50;
const errands = clubs * errandsOfAClub;
const clients = 20;
const pauseMs = { least: 0, most: 1_000 };
const rounds = 3;
const aliveForMs = { least: 500, most: 4_000 };
const deadForMs = { least: 0, most: 3_000 };
/** The time limit of the wait for delayed work. It is short, so that the last kills also interrupt work. */
const patienceMs = 20_000;
/** The time limit for the last files. Leases last 10 s, faults cause pauses, and the sweeper needs two minutes. */
const deadlineMs = 10 * 60_000;

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

/** @returns the exit code */
export async function mediaFaults(interrupted: Promise<unknown>): Promise<number> {
  const env = { FFMPEG_BINARY: await locate(components.ffmpeg), WORKER_TASK_QUEUES: 'media,moves,upkeep' };
  return (await onGround(interrupted, workWhileKilling, env, ['temporal', 'postgres', 'storage'])) ?? 130;
}

async function workWhileKilling(ground: Ground): Promise<number> {
  const source = await createDataSource(readConfig(ground.env).database, 'club-faults').initialize();
  const libraries = await buildLibraries(source, clubs);
  const doing = createErrands(ground.urls.API, await realVideo('640x480'));
  const work = begin(doing, libraries);
  const beganAt = elapsedSeconds();
  work.done.catch(() => undefined); // avoids an unhandled rejection; the await of `work.done` below still throws the error
  let missed = 0;
  const isFailpoint = (victim: MediaVictim): victim is (typeof failpoints)[number] =>
    failpoints.some((name) => name === victim);
  let killNumber = 0;
  const kills = await killInTurn({
    victims,
    rounds,
    deadForMs,
    async beforeKill() {
      await sleep(between(aliveForMs));
      const ends = elapsedSeconds() + patienceMs / 1_000;
      while (work.openErrands() > clients && elapsedSeconds() < ends) await sleep(100);
    },
    async kill(victim) {
      killNumber += 1;
      work.allow(Math.ceil((errands * killNumber) / (rounds * victims.length)));
      if (!isFailpoint(victim)) return ground.kill(victim);
      missed += (await killAtStep(ground, victim)) ? 0 : 1;
    },
    startAgain: (victim) => ground.startAgain(victimOnGround(victim)),
    standing: () => `${work.finished.length} files finished by clients`,
  });
  progress('all processes run again; waiting for the last files');
  await work.done;
  const ends = elapsedSeconds() + deadlineMs / 1_000;
  for (
    let unfinishedCount = await unfinished(source);
    unfinishedCount > 0 && elapsedSeconds() < ends;
    unfinishedCount = await unfinished(source)
  )
    await sleep(1_000);

  const result = await tallyFiles(source, readConfig(ground.env).storage, work.finished);
  await source.destroy();
  print(
    `${kills.length} kills in ${(elapsedSeconds() - beganAt).toFixed(0)} s, ${missed} of them not at their step; processes that ended by themselves: ${ground.endedByItself}`,
  );
  print(`resumable uploads were cut ${doing.cuts} times`);
  const { lines, isFine } = verdictOf({ finished: work.finished.length, expected: files }, result);
  lines.forEach(print);
  return isFine ? 0 : 1;

  function victimOnGround(victim: MediaVictim): Victim {
    return isFailpoint(victim) ? 'worker' : victim;
  }
}

interface Work {
  readonly finished: ExpectedFile[];
  readonly done: Promise<unknown>;
  /** Allows this number of errands in total, so that some errands remain for each kill. */
  allow(count: number): void;
  openErrands(): number;
}

function begin(doing: Errands, libraries: readonly Library[]): Work {
  const finished: ExpectedFile[] = [];
  let [allowedCount, next, endedCount] = [0, 0, 0];
  async function client(): Promise<void> {
    for (;;) {
      while (next >= allowedCount && next < errands) await sleep(50);
      const number = next++;
      if (number >= errands) return;
      // Consecutive errands differ in kind, and each club gets every kind once.
      const club = number % clubs;
      const kind = (club + Math.floor(number / clubs)) % errandsOfAClub;
      const library = libraries[club] as Library;
      finished.push(...(await doing.run(club * errandsOfAClub + kind, library)));
      endedCount += 1;
      await sleep(between(pauseMs));
    }
  }
  return {
    finished,
    done: Promise.all(Array.from({ length: clients }, client)),
    allow(count) {
      allowedCount = count;
    },
    openErrands: () => allowedCount - endedCount,
  };
}

const print = (line: string) => process.stdout.write(`${line}\n`);
