/** `npm run bench -- media storage`: a club's storage, its plan and a reservation at 1,000 and at 1,000,000 files (MED-20). */
import { readConfig } from '../config.ts';
import { readClubPlan } from '../domain/billing/club-plan.ts';
import { holdStorage, readStorageUsage } from '../domain/media/storage.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../entities/migrate.ts';
import type { Id } from '../platform/core/ids.ts';
import { Database } from '../platform/infra/postgres/database.ts';
import { addClub } from './clubs.ts';
import { indexesOf } from './reads-plans.ts';
import { onFreshStack, progress, quantile, report } from './support.ts';

const sizes = { short: 1_000, long: 1_000_000 };
const samples = 400;
const warmUps = 40;
const megabyte = 1_000_000;

const reads: Readonly<Record<string, (db: Database, clubId: Id) => Promise<unknown>>> = {
  'storage usage': readStorageUsage,
  'club plan': (db, clubId) => readClubPlan(db, clubId, new Date()),
  'hold of a reservation': (db, clubId) => db.transaction((tx) => holdStorage(tx, clubId, megabyte, 'administrator')),
};

/** Both clubs take turns, so that whatever else the machine does falls on both. */
export async function benchStorage(): Promise<void> {
  await onFreshStack(['postgres'], async ({ env }) => {
    const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
    await migrate(source);
    const db = new Database(source, { notify() {} });
    const clubs: Record<keyof typeof sizes, Id> = { short: '', long: '' };
    for (const size of ['short', 'long'] as const) {
      const begun = performance.now();
      clubs[size] = (await addClub(source)).id;
      await addFiles(db, clubs[size], sizes[size]);
      progress(`${sizes[size]} files in ${Math.round((performance.now() - begun) / 1_000)} s`);
    }
    await source.query('VACUUM ANALYZE media, club_storage, club_storage_changes');
    for (const [what, read] of Object.entries(reads)) {
      const took = { short: [] as number[], long: [] as number[] };
      for (let nth = -warmUps; nth < samples; nth++)
        for (const size of ['short', 'long'] as const) {
          const begun = performance.now();
          await read(db, clubs[size]);
          if (nth >= 0) took[size].push(performance.now() - begun);
        }
      const [before, value] = [quantile(took.short, 0.95), quantile(took.long, 0.95)];
      report(`${what} of ${sizes.long} files: p95 ms`, {
        value,
        [`at ${sizes.short}`]: before,
        ratio: value / before,
        aim: 2,
      });
    }
    process.stdout.write(`    ${(await indexesOf(source, (tx) => readStorageUsage(tx, clubs.long))).join(', ')}\n`);
    await source.destroy();
  });
}

/** Ready files of every kind, a statement for ten thousand of them, as many uploads would leave them. */
async function addFiles(db: Database, clubId: Id, count: number): Promise<void> {
  const atOnce = 10_000;
  for (let done = 0; done < count; done += atOnce)
    await db.source.query(
      `INSERT INTO media (id, club_id, purpose, kind, title, provider, status, mime, size_bytes, object_key, created_at, updated_at)
       SELECT id, $1, 'library', (ARRAY['video', 'audio', 'image', 'document'])[1 + number % 4], 'A file', 'objstore', 'ready',
              'application/octet-stream', 1000 + number, 'media/' || id, now(), now()
         FROM (SELECT gen_random_uuid() AS id, number FROM generate_series(1, $2::int) AS number) AS files`,
      [clubId, Math.min(atOnce, count - done)],
    );
}
