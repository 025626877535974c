/** Every process of a build writes heartbeats into Postgres. So `migrate` knows whether an older version still reads a column. */
import type { Build } from '../../build.ts';
import { newId } from '../../../core/ids.ts';
import type { Queries } from '../database.ts';
import { sql } from '../sql.ts';

const beatEveryMs = 10_000;
/** After six missing heartbeats, the process counts as ended. */
const goneAfterSeconds = 60;

/** A process with a heartbeat that is at most a minute old. */
export interface RunningProcess extends Build {
  name: string;
}

/**
 * Writes a heartbeat immediately, and then every 10 s.
 * @param name `api` or `worker`
 * @param build undefined in a checkout, which writes no heartbeat
 * @param onFailure gets the error of a heartbeat
 * @returns a function that stops the heartbeats, and records the end of the process
 */
export async function keepBeating(
  db: Queries,
  name: string,
  build: Build | undefined,
  onFailure: (error: unknown) => void,
): Promise<() => Promise<void>> {
  if (!build) return () => Promise.resolve();
  const id = newId();
  const beat = () =>
    db.run(
      sql`WITH gone AS (DELETE FROM running_processes WHERE beat_at < clock_timestamp() - interval '1 day')
          INSERT INTO running_processes (id, name, build_id, version, beat_at)
          VALUES (${id}, ${name}, ${build.buildId}, ${build.version}, clock_timestamp())
          ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at`,
    );
  await beat();
  const beating = setInterval(() => void beat().catch(onFailure), beatEveryMs);
  beating.unref();
  return async () => {
    clearInterval(beating);
    await db.run(sql`DELETE FROM running_processes WHERE id = ${id}`).catch(onFailure);
  };
}

/** @returns the processes of earlier versions with a heartbeat within the last minute */
export async function runningBefore(db: Queries, version: string): Promise<RunningProcess[]> {
  const running = await db.rows<RunningProcess>(
    sql`SELECT name, build_id AS "buildId", version FROM running_processes
         WHERE beat_at > clock_timestamp() - make_interval(secs => ${goneAfterSeconds}) ORDER BY name, id`,
  );
  return running.filter((one) => isBefore(one.version, version));
}

/** Compares the whole numbers between the dots, without the part after a hyphen. */
export function isBefore(version: string, other: string): boolean {
  const [own, its] = [numbersOf(version), numbersOf(other)];
  const place = own.findIndex((number, index) => number !== (its[index] ?? 0));
  return place >= 0 && (own[place] ?? 0) < (its[place] ?? 0);
}

const numbersOf = (version: string): number[] => {
  const [major = 0, minor = 0, patch = 0] = (version.split('-')[0] ?? '').split('.').map(Number);
  return [major, minor, patch];
};
