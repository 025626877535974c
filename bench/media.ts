/**
 * `npm run bench -- media`: the effect on other callers when ten hostile files are completed together (DEC-54). It calls `/healthz` and
 * reads another person's session, with and without this load. The main figure is the p99 of `/healthz`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { readConfig } from '../config.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../commands/migrate.ts';
import { archiveOfManyEntries, jpegOfManySegments, png } from '../test/toolkit/builders/pictures.ts';
import { addClub } from './clubs.ts';
import { complete, upload } from './media-calls.ts';
import { benchLargest } from './media-largest.ts';
import { benchPictures, pictureMeasurements } from './media-pictures.ts';
import { benchStorage } from './media-storage.ts';
import { benchTus } from './media-tus.ts';
import { onFreshStack, progress, quantile, report } from './support.ts';

const rounds = 6;
/** Completed together. */
const files = 10;
/** The pause between two requests to `/healthz`. */
const everyMs = 5;
const aloneMs = 5_000;
/** The p99 of `/healthz`, in milliseconds. */
const aim = 50;
/** The p95 of reading a session, as a multiple of its p95 without load. */
const aimOfSession = 2;

export const mediaMeasurements = ['hostile', ...pictureMeasurements, 'storage', 'tus', 'largest'];
/** These run only if the command line names them. */
export const longMediaMeasurements = ['largest'];

export async function benchMedia(selection: readonly string[]): Promise<void> {
  if (selection.includes('storage')) await benchStorage();
  for (const what of pictureMeasurements) if (selection.includes(what)) await benchPictures(what);
  if (selection.includes('tus')) await benchTus();
  if (selection.includes('largest')) await benchLargest();
  if (!selection.includes('hostile')) return;
  await onFreshStack(['postgres', 'storage', 'temporal'], async ({ env, launch }) => {
    const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
    await migrate(source);
    const { port } = await launch('api/server.ts', 'API_PORT');
    await launch('worker/main.ts', 'WORKER_PORT', { WORKER_TASK_QUEUES: 'media' });
    await measureHostile(`http://127.0.0.1:${port}`, source);
    await source.destroy();
  });
}

/**
 * A ZIP64 archive of 100,000 entries, a JPEG of 750,000 segments, and a truncated PNG of 15 MB. Earlier versions of the service needed
 * seconds for each.
 */
const hostile = [
  archiveOfManyEntries(),
  jpegOfManySegments(),
  png(4_000, 4_000, { extra: 15_000_000 }).subarray(0, -20),
];

async function measureHostile(base: string, source: DataSource): Promise<void> {
  const { token } = await addClub(source);
  const watched = { health: `${base}/healthz`, session: `${base}/v1/me` } as const;
  type Delays = Record<keyof typeof watched, number[]>;
  const watch = async (work: Promise<unknown>): Promise<Delays> => {
    const [health, session] = await Promise.all([
      watchCalls(watched.health, {}, work),
      watchCalls(watched.session, { authorization: `Bearer ${token}` }, work),
    ]);
    return { health, session };
  };
  await watch(sleep(aloneMs)); // warms up
  const alone = await watch(sleep(aloneMs));
  const beside: Delays = { health: [], session: [] };
  const answers: Record<string, number> = {};
  for (let round = 1; round <= rounds; round++) {
    const club = await addClub(source); // each club may make 60 calls a minute
    const ids = await Promise.all(
      Array.from({ length: files }, (_, at) => upload(base, club, hostile[at % hostile.length] as Buffer)),
    );
    const startedAt = performance.now();
    const completing = Promise.all(ids.map((id) => complete(base, club, id)));
    const delays = await watch(completing);
    beside.health.push(...delays.health);
    beside.session.push(...delays.session);
    for (const status of await completing) answers[status] = (answers[status] ?? 0) + 1;
    progress(`round ${round}: ${Math.round(performance.now() - startedAt)} ms`);
  }
  progress(`${beside.health.length} calls beside; the files became ${JSON.stringify(answers)}`);
  report('ms of /healthz beside ten completions of hostile files: p99', {
    value: quantile(beside.health, 0.99),
    max: Math.max(...beside.health),
    p50: quantile(beside.health, 0.5),
    'p99 alone': quantile(alone.health, 0.99),
    aim,
  });
  const [before, value] = [quantile(alone.session, 0.95), quantile(beside.session, 0.95)];
  report('ms of a session beside ten completions of hostile files: p95', {
    value,
    alone: before,
    ratio: value / before,
    aim: aimOfSession,
  });
}

/** @returns milliseconds of each call, until `work` has ended */
async function watchCalls(url: string, headers: Record<string, string>, work: Promise<unknown>): Promise<number[]> {
  const delays: number[] = [];
  let over = false;
  const ended = work.finally(() => (over = true));
  while (!over) {
    const startedAt = performance.now();
    const answer = await fetch(url, { headers });
    if (!answer.ok) throw new Error(`A call was answered ${answer.status}.`);
    await answer.arrayBuffer();
    delays.push(performance.now() - startedAt);
    await sleep(everyMs);
  }
  await ended;
  return delays;
}
