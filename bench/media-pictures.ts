/** `npm run bench -- media images pages`: images and PDFs a second, beside a loop that only creates the pictures. */
import { availableParallelism } from 'node:os';
import type { DataSource } from 'typeorm';
import sharp from 'sharp';
import { readConfig } from '../config.ts';
import { mediaPermits, pictureBox, renditionBoxes } from '../domain/media/processing.policy.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../commands/migrate.ts';
import { drawFirstPage } from '../platform/infra/images/page.ts';
import { makeMailPicture } from '../platform/infra/images/mail-picture.ts';
import { shrinkImage } from '../platform/infra/images/shrink.ts';
import { pdf } from '../test/toolkit/builders/documents.ts';
import { addClub } from './clubs.ts';
import { complete, upload, type Announced } from './media-calls.ts';
import { onFreshStack, progress, reportBeside, waitUntil, type Round } from './support.ts';

const rounds = 3;
/** A club may make 60 writes a minute, and a file needs two. */
const filesARound = 25;

/** The uploaded file, and the work that the bare loop does for it. */
interface Subject {
  announced: Announced;
  bytes: Buffer;
  work: () => Promise<unknown>;
}

/** Makes all pictures of an image of the library. */
async function makePicturesOf(image: Buffer): Promise<void> {
  await shrinkImage(image, [renditionBoxes.preview, renditionBoxes.thumbnail]);
  await makeMailPicture(image);
}

const subjects: Readonly<Record<'images' | 'pages', () => Promise<Subject>>> = {
  async images() {
    const bytes = await camera();
    const announced = { file_name: 'knot.jpg', mime: 'image/jpeg' };
    return { announced, bytes, work: () => makePicturesOf(bytes) };
  },
  async pages() {
    const bytes = await pdf(
      ...Array.from({ length: 40 }, (_, at) => `Knot ${at}. ${'Bends and hitches. '.repeat(60)}`),
    );
    const signal = new AbortController().signal;
    const announced = { file_name: 'knots.pdf', mime: 'application/pdf' };
    return { announced, bytes, work: () => drawFirstPage([bytes], pictureBox, { signal }) };
  },
};

export const pictureMeasurements = ['images', 'pages'] as const;

export async function benchPictures(what: keyof typeof subjects): Promise<void> {
  const subject = await subjects[what]();
  await onFreshStack(['postgres', 'storage', 'temporal'], async ({ env, launch }) => {
    const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
    await migrate(source);
    const { port } = await launch('api/server.ts', 'API_PORT');
    await launch('worker/main.ts', 'WORKER_PORT', { WORKER_TASK_QUEUES: 'media' });
    const kilobytes = Math.round(subject.bytes.length / 1_000);
    progress(`${what} of ${kilobytes} kB, ${mediaPermits(availableParallelism())} at a time`);
    await measure(`http://127.0.0.1:${port}`, source, subject); // warms up
    const measured: Round[] = [];
    for (let round = 1; round <= rounds; round++) {
      const figures = {
        bare: await bareLoop(subject),
        ours: await measure(`http://127.0.0.1:${port}`, source, subject),
      };
      measured.push(figures);
      progress(`round ${round}: ${figures.ours.toFixed(1)}/s, bare loop ${figures.bare.toFixed(1)}/s`);
    }
    reportBeside(`${what}/s`, measured);
    await source.destroy();
  });
}

/** Creates a picture with many details, like the picture of a phone. */
async function camera(): Promise<Buffer> {
  const [width, height] = [3_000, 2_000];
  const noise = { type: 'gaussian', mean: 128, sigma: 30 } as const;
  return sharp({ create: { width, height, channels: 3, background: 'teal', noise } })
    .blur(2)
    .jpeg({ quality: 80 })
    .toBuffer();
}

/** @returns files a second, from the first completed upload until the last file is ready with its pictures */
async function measure(base: string, source: DataSource, { announced, bytes }: Subject): Promise<number> {
  const club = await addClub(source);
  const ids = await Promise.all(Array.from({ length: filesARound }, () => upload(base, club, bytes, announced)));
  const startedAt = performance.now();
  await Promise.all(ids.map((id) => complete(base, club, id)));
  await waitUntil(
    'the last file',
    async () => {
      const [row] = await source.query<{ ready: number }[]>(
        `SELECT count(DISTINCT media_id)::int AS ready FROM media_renditions JOIN media ON media.id = media_id
          WHERE club_id = $1 AND status = 'ready'`,
        [club.id],
      );
      return row?.ready === filesARound;
    },
    { timeoutMs: 120_000 },
  );
  return (filesARound * 1_000) / (performance.now() - startedAt);
}

/** Processes as many files in parallel as a worker. */
async function bareLoop({ work }: Subject): Promise<number> {
  const startedAt = performance.now();
  let remaining = filesARound;
  const loop = async () => {
    while (remaining-- > 0) await work();
  };
  await Promise.all(Array.from({ length: mediaPermits(availableParallelism()) }, loop));
  return (filesARound * 1_000) / (performance.now() - startedAt);
}
