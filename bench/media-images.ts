/** `npm run bench -- media images`: images through the worker a second, beside a bare loop over the process that makes them smaller. */
import { availableParallelism } from 'node:os';
import type { DataSource } from 'typeorm';
import sharp from 'sharp';
import { readConfig } from '../config.ts';
import { mediaPlaces, renditionBoxes } from '../domain/media/media.policy.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../entities/migrate.ts';
import { shrinkImage } from '../platform/infra/images/shrink.ts';
import { addClub } from './clubs.ts';
import { complete, upload } from './media-calls.ts';
import { onFreshStack, progress, reportBeside, waitUntil, type Round } from './support.ts';

const rounds = 3;
/** A club may write 60 times a minute; two writes a file. */
const images = 25;

export async function benchImages(): Promise<void> {
  await onFreshStack(['postgres', 'storage', 'temporal'], async ({ env, launch }) => {
    const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
    await migrate(source);
    const { port } = await launch('api/server.ts', 'API_PORT');
    await launch('worker/main.ts', 'WORKER_PORT', { WORKER_TASK_QUEUES: 'media' });
    const photo = await camera();
    progress(`photos of ${Math.round(photo.length / 1_000)} kB, ${mediaPlaces(availableParallelism())} at a time`);
    await measure(`http://127.0.0.1:${port}`, source, photo); // warms up
    const measured: Round[] = [];
    for (let round = 1; round <= rounds; round++) {
      const figures = {
        bare: await bareLoop(photo),
        ours: await measure(`http://127.0.0.1:${port}`, source, photo),
      };
      measured.push(figures);
      progress(`round ${round}: ${figures.ours.toFixed(1)}/s, bare loop ${figures.bare.toFixed(1)}/s`);
    }
    reportBeside('images/s', measured);
    await source.destroy();
  });
}

/** A picture with detail, as phones send them. */
async function camera(): Promise<Buffer> {
  const [width, height] = [3_000, 2_000];
  const noise = { type: 'gaussian', mean: 128, sigma: 30 } as const;
  return sharp({ create: { width, height, channels: 3, background: 'teal', noise } })
    .blur(2)
    .jpeg({ quality: 80 })
    .toBuffer();
}

/** @returns images a second, from the first completion until the last is ready */
async function measure(base: string, source: DataSource, photo: Buffer): Promise<number> {
  const club = await addClub(source);
  const ids = await Promise.all(Array.from({ length: images }, () => upload(base, club, photo)));
  const begun = performance.now();
  await Promise.all(ids.map((id) => complete(base, club, id)));
  await waitUntil(
    'the last image',
    async () => {
      const [row] = await source.query<{ left: number }[]>(
        `SELECT count(*)::int AS left FROM media WHERE club_id = $1 AND status <> 'ready'`,
        [club.id],
      );
      return row?.left === 0;
    },
    { timeoutMs: 120_000 },
  );
  return (images * 1_000) / (performance.now() - begun);
}

/** As many at a time as a worker processes. */
async function bareLoop(photo: Buffer): Promise<number> {
  const begun = performance.now();
  let left = images;
  const work = async () => {
    while (left-- > 0) await shrinkImage(photo, [renditionBoxes.preview, renditionBoxes.thumbnail]);
  };
  await Promise.all(Array.from({ length: mediaPlaces(availableParallelism()) }, work));
  return (images * 1_000) / (performance.now() - begun);
}
