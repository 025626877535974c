/**
 * `npm run bench -- media storage` measures reads and writes of a library with 1,000 and 1,000,000 files (MED-20): storage usage, plan,
 * list, reservation, and the queue of files.
 */
import { readConfig } from '../config.ts';
import { mediaUses } from '../domain/contexts.ts';
import { readClubPlan } from '../domain/billing/club-plan.ts';
import { listMedia } from '../domain/media/library/library.ts';
import { claimFile, releaseFile } from '../domain/media/processing/claims.ts';
import { processOldFiles } from '../domain/media/processing/old-files.ts';
import { reserveStorage, readStorageUsage } from '../domain/media/storage/storage.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../commands/migrate.ts';
import { newId, type Id } from '../platform/core/ids.ts';
import { Secret } from '../platform/core/secret.ts';
import { createObjectStore } from '../platform/infra/store/object-store.ts';
import { Database } from '../platform/infra/postgres/database.ts';
import { addClub } from './clubs.ts';
import { indexesOf } from './reads-plans.ts';
import { onFreshStack, progress, quantile, report } from './support.ts';

const sizes = { short: 1_000, long: 1_000_000 };
const samples = 400;
const warmUps = 40;
const megabyte = 1_000_000;

/** This store only signs addresses, which no caller uses. */
const unreached = createObjectStore({
  endpoint: 'http://127.0.0.1:9',
  region: 'us-east-1',
  accessKeyId: new Secret('unused'),
  secretAccessKey: new Secret('unused'),
  privateBucket: 'unused',
  publicBucket: 'unused',
  publicFilesUrl: 'http://127.0.0.1:9',
  linksUrl: 'http://127.0.0.1:9',
});

const reads: Readonly<Record<string, (db: Database, clubId: Id) => Promise<unknown>>> = {
  'storage usage': readStorageUsage,
  'library list, first page': (db, clubId) =>
    listMedia(
      { db, storage: unreached, mediaUses },
      { clubId, administratorId: newId() },
      { archived: false, page: 1, page_size: 20 },
    ),
  'club plan': (db, clubId) => readClubPlan(db, clubId, new Date()),
  'hold of a reservation': (db, clubId) =>
    db.transaction((tx) => reserveStorage(tx, clubId, megabyte, 'administrator')),
};

/** Measures both alternately, so that other load on the machine affects both. */
export async function benchStorage(): Promise<void> {
  await onFreshStack(['postgres'], async ({ env }) => {
    const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
    await migrate(source);
    const db = new Database(source, { notify() {} });
    const queues: Record<keyof typeof sizes, number[]> = { short: [], long: [] };
    const clubs: Record<keyof typeof sizes, Id> = { short: '', long: '' };
    for (const size of ['short', 'long'] as const) {
      const startedAt = performance.now();
      clubs[size] = (await addClub(source)).id;
      await addFiles(db, clubs[size], sizes[size]);
      progress(`${sizes[size]} files in ${Math.round((performance.now() - startedAt) / 1_000)} s`);
      await source.query('VACUUM ANALYZE media');
      queues[size] = await queueOf(db);
    }
    reportRatio('files of the queue', queues);
    await source.query('VACUUM ANALYZE media, club_storage, club_storage_changes');
    for (const [what, read] of Object.entries(reads)) {
      const took = { short: [] as number[], long: [] as number[] };
      for (let nth = -warmUps; nth < samples; nth++)
        for (const size of ['short', 'long'] as const) {
          const startedAt = performance.now();
          await read(db, clubs[size]);
          if (nth >= 0) took[size].push(performance.now() - startedAt);
        }
      reportRatio(`${what} of`, took);
    }
    process.stdout.write(`    ${(await indexesOf(source, (tx) => readStorageUsage(tx, clubs.long))).join(', ')}\n`);
    await source.destroy();
  });
}

function reportRatio(what: string, took: Record<keyof typeof sizes, number[]>): void {
  const [before, value] = [quantile(took.short, 0.95), quantile(took.long, 0.95)];
  report(`${what} ${sizes.long} files: p95 ms`, {
    value,
    [`at ${sizes.short}`]: before,
    ratio: value / before,
    aim: 2,
  });
}

/**
 * Half of the files get into the queue of the workers. @returns milliseconds of each sample: a search for old files, a claim of one file,
 * and its release
 */
async function queueOf(db: Database): Promise<number[]> {
  await db.source.query(
    `UPDATE media SET looks_at = now() - interval '1 hour' WHERE looks_at IS NULL AND abs(hashtext(id::text)) % 2 = 0`,
  );
  await db.source.query('VACUUM ANALYZE media');
  const ids = await db.source.query<{ id: Id }[]>(
    `SELECT id FROM media WHERE looks_at IS NOT NULL ORDER BY random() LIMIT $1`,
    [samples + warmUps],
  );
  const took: number[] = [];
  for (const [nth, { id }] of ids.entries()) {
    const startedAt = performance.now();
    await processOldFiles(db, new Date());
    const claim = await claimFile(db, id, Date.now());
    if (!claim) throw new Error('Found no claim of a due file.');
    await releaseFile(db, claim);
    if (nth >= warmUps) took.push(performance.now() - startedAt);
  }
  return took;
}

/** Each statement inserts ten thousand rows, like rows of uploaded files. */
async function addFiles(db: Database, clubId: Id, count: number): Promise<void> {
  const atOnce = 10_000;
  for (let inserted = 0; inserted < count; inserted += atOnce)
    await db.source.query(
      `INSERT INTO media (id, club_id, purpose, kind, title, provider, status, mime, size_bytes, object_key, created_at, updated_at)
       SELECT id, $1, 'library', (ARRAY['video', 'audio', 'image', 'document'])[1 + number % 4], 'A file', 'objstore', 'ready',
              'application/octet-stream', 1000 + number, 'media/' || id, now(), now()
         FROM (SELECT gen_random_uuid() AS id, number FROM generate_series(1, $2::int) AS number) AS files`,
      [clubId, Math.min(atOnce, count - inserted)],
    );
}
