/**
 * `npm run bench -- media`: what others notice while ten hostile files are completed at once (DEC-54): `/healthz` beside it, and
 * the same alone. The event loop of the API must stay free, so this is its p99.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { readConfig } from '../config.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../entities/migrate.ts';
import type { Id } from '../platform/core/ids.ts';
import { archiveOfManyEntries, jpegOfManySegments, png } from '../test/toolkit/builders/pictures.ts';
import { addClub, type BenchClub } from './clubs.ts';
import { benchStorage } from './media-storage.ts';
import { benchTus } from './media-tus.ts';
import { onFreshStack, progress, quantile, report } from './support.ts';

const rounds = 6;
/** Completed at once. */
const files = 10;
/** How often somebody asks for the API's health meanwhile. */
const everyMs = 5;
const aloneMs = 5_000;
/** Milliseconds of the p99. */
const aim = 50;

export const mediaMeasurements = ['hostile', 'storage', 'tus'];

export async function benchMedia(wanted: readonly string[]): Promise<void> {
  if (wanted.includes('storage')) await benchStorage();
  if (wanted.includes('tus')) await benchTus();
  if (!wanted.includes('hostile')) return;
  await onFreshStack(['postgres', 'storage', 'temporal'], async ({ env, launch }) => {
    const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
    await migrate(source);
    const { port } = await launch('api/server.ts', 'API_PORT');
    await launch('worker/main.ts', 'WORKER_PORT', { WORKER_TASK_QUEUES: 'media' });
    await measureHostile(`http://127.0.0.1:${port}`, source);
    await source.destroy();
  });
}

/** A ZIP64 archive of 100,000 entries, a JPEG of 750,000 segments, and a cut PNG of 15 MB: each once cost seconds. */
const hostile = [
  archiveOfManyEntries(),
  jpegOfManySegments(),
  png(4_000, 4_000, { extra: 15_000_000 }).subarray(0, -20),
];

async function measureHostile(base: string, source: DataSource): Promise<void> {
  await watchHealth(base, sleep(aloneMs)); // warms up
  const alone = await watchHealth(base, sleep(aloneMs));
  const beside: number[] = [];
  const answers: Record<string, number> = {};
  for (let round = 1; round <= rounds; round++) {
    const club = await addClub(source); // each club has its own 60 calls a minute
    const ids = await Promise.all(
      Array.from({ length: files }, (_, at) => upload(base, club, hostile[at % hostile.length] as Buffer)),
    );
    const begun = performance.now();
    const completing = Promise.all(ids.map((id) => complete(base, club, id)));
    beside.push(...(await watchHealth(base, completing)));
    for (const status of await completing) answers[status] = (answers[status] ?? 0) + 1;
    progress(`round ${round}: ${Math.round(performance.now() - begun)} ms`);
  }
  progress(`${beside.length} calls beside; the files became ${JSON.stringify(answers)}`);
  report('ms of /healthz beside ten completions of hostile files: p99', {
    value: quantile(beside, 0.99),
    max: Math.max(...beside),
    p50: quantile(beside, 0.5),
    'p99 alone': quantile(alone, 0.99),
    aim,
  });
}

/** @returns the milliseconds of each call until `work` has ended */
async function watchHealth(base: string, work: Promise<unknown>): Promise<number[]> {
  const delays: number[] = [];
  let over = false;
  const ended = work.finally(() => (over = true));
  while (!over) {
    const begun = performance.now();
    const answer = await fetch(`${base}/healthz`);
    await answer.arrayBuffer();
    delays.push(performance.now() - begun);
    await sleep(everyMs);
  }
  await ended;
  return delays;
}

/** Reserves an upload of what is announced as an image, and puts it there. */
async function upload(base: string, club: BenchClub, bytes: Buffer): Promise<Id> {
  const announced = { file_name: 'knot.png', mime: 'image/png', size_bytes: bytes.length };
  const { data, upload: to } = (await post(base, club, '', announced)) as {
    data: { id: Id };
    upload: { url: string; headers: Record<string, string> };
  };
  const stored = await fetch(to.url, { method: 'PUT', headers: to.headers, body: new Uint8Array(bytes) });
  if (!stored.ok) throw new Error(`The store answered ${stored.status}.`);
  return data.id;
}

/** @returns the status of the file after it */
async function complete(base: string, club: BenchClub, id: Id): Promise<string> {
  const { data } = (await post(base, club, `/${id}/complete`)) as { data: { status: string } };
  return data.status;
}

async function post(base: string, { id, token }: BenchClub, path: string, body?: object): Promise<unknown> {
  const answer = await fetch(`${base}/v1/clubs/${id}/media${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`A call for a file was answered ${answer.status}.`);
  return answer.json();
}
