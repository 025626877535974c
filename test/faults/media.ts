/**
 * `npm run faults -- media`: files are uploaded without a pause while the API, the worker, S3 and Postgres are killed and started again
 * in turn, the worker at each step of its processing. No file may be lost or counted twice, and no object may be without a row.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { readConfig } from '../../config.ts';
import { components } from '../../dev/components/catalogue.ts';
import { locate } from '../../dev/components.ts';
import { createDataSource } from '../../entities/data-source.ts';
import { realVideo } from '../toolkit/builders/real-videos.ts';
import { buildLibraries, type Library } from './media/libraries.ts';
import { tallyFiles, unfinished, type Sent } from './media/tally.ts';
import { uploadOnce, type Arriving } from './media/uploader.ts';
import { elapsedSeconds, progress } from './progress.ts';
import { between } from './ranges.ts';
import { killInTurn } from './turns.ts';
import { onGround, type Ground, type Victim } from './victims.ts';

const files = 500;
/** A club may write 60 times a minute: two writes a file, and their repetitions. */
const filesOfAClub = 10;
const uploaders = 6;
/** Between two files of an uploader, so that the last kills meet files as well. */
const pauseMs = { least: 500, most: 3_000 };
const rounds = 3;
/** How long things go well before a kill, and how long what was killed stays dead. */
const aliveForMs = { least: 500, most: 4_000 };
const deadForMs = { least: 0, most: 3_000 };
/** Leases of 10 s, pauses after faults, and the sweeper's two minutes. */
const deadlineMs = 10 * 60_000;

/** The steps of a file that the worker is killed at. */
const failpoints = ['file_claimed', 'file_identified', 'file_rendered', 'file_recorded'] as const;
const victims = ['API', 'S3', 'Postgres', ...failpoints] as const;
type MediaVictim = (typeof victims)[number];

/** @returns the exit code: 0 when nothing was lost, counted twice or left over */
export async function mediaFaults(interrupted: Promise<unknown>): Promise<number> {
  const env = { FFMPEG_BINARY: await locate(components.ffmpeg), WORKER_TASK_QUEUES: 'media,upkeep' };
  const work = (ground: Ground) => uploadWhileKilling(ground);
  return (await onGround(interrupted, work, env, ['temporal', 'postgres', 'storage'])) ?? 130;
}

async function uploadWhileKilling(ground: Ground): Promise<number> {
  const source = await createDataSource(readConfig(ground.env).database, 'club-faults').initialize();
  const libraries = await buildLibraries(source, files / filesOfAClub);
  const movie = await realVideo('640x480');
  const sent: Sent[] = [];
  let next = 0;
  const begin = elapsedSeconds();
  const all = Promise.all(
    Array.from({ length: uploaders }, async () => {
      for (let number = next++; number < files; number = next++) {
        const library = libraries[number % libraries.length] as Library;
        const file = await fileOf(number, movie);
        const id = await uploadOnce(ground.urls.API, library, file);
        sent.push({
          id,
          clubId: library.clubId,
          digest: createHash('sha256').update(file.bytes).digest('hex'),
          becomes: file.becomes,
        });
        await sleep(between(pauseMs));
      }
    }),
  );
  all.catch(() => undefined); // told below
  const isFailpoint = (victim: MediaVictim): victim is (typeof failpoints)[number] =>
    failpoints.some((name) => name === victim);
  const ofGround = (victim: MediaVictim): Victim => (isFailpoint(victim) ? 'worker' : victim);
  const kills = await killInTurn({
    victims,
    rounds,
    deadForMs,
    beforeKill: () => sleep(between(aliveForMs)),
    // The worker that is to end at a step ends at the next file, if there is one.
    kill: (victim) =>
      isFailpoint(victim)
        ? Promise.race([ground.killWorkerAt(victim), sleep(90_000)]).then(() => ground.kill('worker'))
        : ground.kill(victim),
    startAgain: (victim) => ground.startAgain(ofGround(victim)),
    standing: () => `${sent.length} files completed`,
  });
  progress('everything is up again; waiting for the last files');
  await all;
  const ends = elapsedSeconds() + deadlineMs / 1_000;
  for (let left = await unfinished(source); left > 0 && elapsedSeconds() < ends; left = await unfinished(source))
    await sleep(1_000);

  const result = await tallyFiles(source, readConfig(ground.env).storage, sent);
  await source.destroy();
  const print = (line: string) => process.stdout.write(`${line}\n`);
  print(
    `${kills.length} kills in ${(elapsedSeconds() - begin).toFixed(0)} s; processes that ended by themselves: ${ground.endedByItself}`,
  );
  print(
    `became ${Object.entries(result.byStatus)
      .map(([status, count]) => `${status} ${count}`)
      .join(', ')}`,
  );
  for (const line of [...result.lost, ...result.miscounted, ...result.ownerless]) print(line);
  print(
    `files ${sent.length}, lost ${result.lost.length}, counted twice ${result.miscounted.length}, objects without a row ${result.ownerless.length}`,
  );
  return sent.length === files && result.lost.length + result.miscounted.length + result.ownerless.length === 0 ? 0 : 1;
}

/** Every tenth is a video and every seventh lies about its type; the others are texts and pictures, each different. */
async function fileOf(number: number, movie: Buffer): Promise<Arriving> {
  const words = Buffer.from(`# Knot ${number}\n${'bends and hitches\n'.repeat(1 + (number % 50))}`);
  if (number % 7 === 3) return { name: `${number}.pdf`, mime: 'application/pdf', bytes: words, becomes: 'failed' };
  if (number % 10 === 9) return { name: `${number}.mp4`, mime: 'video/mp4', bytes: movie, becomes: 'ready' };
  if (number % 2 === 0) return { name: `${number}.md`, mime: 'text/markdown', bytes: words, becomes: 'ready' };
  const background = { r: number % 256, g: 30, b: 30 };
  const bytes = await sharp({ create: { width: 400 + number, height: 300, channels: 3, background } })
    .png()
    .toBuffer();
  return { name: `${number}.png`, mime: 'image/png', bytes, becomes: 'ready' };
}
