/** The check of `doctor` for erased records that a restore of Postgres brought back (ERS-26). */
import type { Config } from '../config.ts';
import { readAlive } from '../domain/erasures/alive.ts';
import { createDataSource } from '../entities/data-source.ts';
import { Database } from '../platform/infra/postgres/database.ts';
import { createObjectStore } from '../platform/infra/store/object-store.ts';

const dayMs = 86_400_000;

/** The newest markers are read first, because a restore brings back the latest erasures. */
const bounds = { days: 30, markers: 5_000 } as const;

/**
 * @param note receives a warning with the command that erases the records again
 * @throws the error of Postgres or of the store
 */
export async function noteErasedRecords(
  { database, storage: settings }: Pick<Config, 'database' | 'storage'>,
  note: (sentence: string) => void,
  now = new Date(),
): Promise<void> {
  const source = await createDataSource(database, 'club-doctor').initialize();
  const storage = createObjectStore(settings);
  try {
    const db = new Database(source, { notify() {} });
    let [alive, remaining]: [number, number] = [0, bounds.markers];
    let firstDay: string | undefined;
    for (let days = 0; days <= bounds.days && remaining > 0; days++) {
      const day = new Date(now.getTime() - days * dayMs);
      for await (const page of readAlive({ db, storage }, day, { until: day, most: remaining })) {
        remaining -= page.markers;
        alive += page.alive.length;
        if (page.alive.length > 0) firstDay = day.toISOString().slice(0, 10);
      }
    }
    if (firstDay !== undefined)
      note(
        `Postgres has ${alive} record(s) again that were erased: run \`node dist/main.js erase-again --since ${firstDay}\` (docs/how-to/back-up-and-restore.md).`,
      );
  } finally {
    storage.close();
    await source.destroy();
  }
}
