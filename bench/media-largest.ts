/**
 * `npm run bench -- media largest` uploads one video of ten gigabytes, the largest allowed size, by tus, and converts it. It runs only if
 * the command line names it, because it takes minutes and 32 GB of disk.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../config.ts';
import { components } from '../dev/components/catalogue.ts';
import { locate } from '../dev/components.ts';
import { freePorts } from '../dev/stack/ports.ts';
import { readStorageUsage } from '../domain/media/storage/storage.ts';
import { maxBytes } from '../domain/media/media.policy.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../commands/migrate.ts';
import { Database } from '../platform/infra/postgres/database.ts';
import { realVideo } from '../test/toolkit/builders/real-videos.ts';
import { addClub } from './clubs.ts';
import { complete } from './media-calls.ts';
import { megabyte, residentBytes, sendByTus } from './media-tus.ts';
import { onFreshStack, progress, report, waitUntil } from './support.ts';

const sampledMs = 200;
const processedWithinMs = 30 * 60_000;

export async function benchLargest(): Promise<void> {
  const directory = process.env['MEDIA_WORK_DIRECTORY'];
  await onFreshStack(['postgres', 'storage', 'temporal'], async ({ env, launch }) => {
    const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
    await migrate(source);
    const club = await addClub(source);
    const { files } = await freePorts(['files']);
    const api = await launch('api/server.ts', 'API_PORT', {
      FILES_PORT: String(files),
      FILES_URL: `http://127.0.0.1:${files}`,
    });
    const worker = await launch('worker/main.ts', 'WORKER_PORT', {
      WORKER_TASK_QUEUES: 'media',
      FFMPEG_BINARY: await locate(components.ffmpeg),
      ...(directory !== undefined && { MEDIA_WORK_DIRECTORY: directory }),
    });
    const base = `http://127.0.0.1:${api.port}`;
    const bytes = maxBytes('library', 'video/mp4');
    const begins = await realVideo('1280x720', { seconds: 5 });
    await sendByTus(base, club, { bytes: 64 * megabyte, begins }); // warms up
    const watched = [watchMemory('API', api.child.pid), watchMemory('worker', worker.child.pid)];
    const startedAt = performance.now();
    const { id, rate } = await sendByTus(base, club, { bytes, begins });
    const sentMs = performance.now() - startedAt;
    await complete(base, club, id);
    const rowOf = async () =>
      (
        await source.query<{ status: string; error: string | null; size: string; made: number; processed: boolean }[]>(
          `SELECT status, error, size_bytes AS size, processed_at IS NOT NULL AS processed,
                  (SELECT count(*)::int FROM media_renditions WHERE media_id = media.id) AS made FROM media WHERE id = $1`,
          [id],
        )
      )[0];
    const wait = (what: string, isSo: (row: NonNullable<Awaited<ReturnType<typeof rowOf>>>) => boolean) =>
      waitUntil(
        what,
        async () => {
          const row = await rowOf();
          if (row?.status === 'failed') throw new Error(`The file failed: ${row.error}.`);
          return row !== undefined && isSo(row);
        },
        { timeoutMs: processedWithinMs, everyMs: 500 },
      );
    await wait('a file that is ready', ({ status }) => status === 'ready');
    const readyMs = performance.now() - startedAt;
    progress(`ready after ${Math.round(readyMs / 1_000)} s`);
    await wait('its MP4', ({ processed }) => processed);
    const row = await rowOf();
    report('s of a video of 10 GB: sent and settled', {
      value: sentMs / 1_000,
      ready: readyMs / 1_000,
      'with its MP4': (performance.now() - startedAt) / 1_000,
      'MB/s': rate,
      renditions: row?.made ?? Number.NaN,
    });
    const { by_kind: kinds } = await readStorageUsage(new Database(source, { notify() {} }), club.id);
    report('bytes of it', {
      value: bytes,
      settled: Number(row?.size),
      'counted beside the first': (kinds.find(({ kind }) => kind === 'video')?.bytes ?? 0) - 64 * megabyte,
    });
    for (const { name, stop } of watched) {
      const { before, most } = await stop();
      report(`MB of memory of the ${name}`, { before, most, grown: most - before });
    }
    await source.destroy();
  });
}

/** @returns a function that ends the measurement; in megabytes */
function watchMemory(name: string, pid: number | undefined) {
  let over = false;
  let [before, most] = [0, 0];
  const watching = (async () => {
    before = most = (await residentBytes(pid)) / megabyte;
    while (!over) {
      most = Math.max(most, (await residentBytes(pid)) / megabyte);
      await sleep(sampledMs);
    }
  })();
  return {
    name,
    async stop() {
      over = true;
      await watching;
      return { before, most };
    },
  };
}
