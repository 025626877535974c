/** Removes students after the restore point, and counts the students that a restore brings back. */
import type { DataSource } from 'typeorm';
import { until } from '../../../../dev/stack/readiness.ts';
import type { InstalledBuild } from '../deploy/builds.ts';
import type { Subject } from '../audience.ts';
import { toItsEnd } from '../processes.ts';

export interface Removals {
  removed: number;
  /** The removed students that the restored Postgres has again. */
  back: number;
  /** The removed students that are still there after `erase-again`. */
  remaining: number;
}

/** The run of an erasure waits beside the other work of the proof. */
const markedWithinMs = 5 * 60_000;

/** Removes the students by the API, and waits until the run of each erasure has written its marker. @throws Error */
export async function removeByApi(source: DataSource, apiUrl: string, subjects: readonly Subject[]): Promise<void> {
  for (const { clubId, studentId, ownerToken } of subjects) {
    const answer = await fetch(`${apiUrl}/v1/clubs/${clubId}/students/${studentId}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${ownerToken}` },
    });
    if (answer.status !== 204) throw new Error(`The removal of a student was answered with ${answer.status}`);
  }
  await until('the markers of the removed students', () => expectMarked(source, subjects), {
    timeoutMs: markedWithinMs,
  });
}

async function expectMarked(source: DataSource, subjects: readonly Subject[]): Promise<void> {
  const [row] = await source.query<{ marked: number }[]>(
    `SELECT count(*)::int AS marked FROM erasures WHERE subject_id = ANY($1) AND counts ? 'buckets'`,
    [subjects.map(({ studentId }) => studentId)],
  );
  if (row?.marked !== subjects.length) throw new Error(`${row?.marked} of ${subjects.length} markers are written`);
}

/** @param point the restore point, in ISO 8601 */
export async function eraseAgain(
  source: DataSource,
  {
    build,
    env,
    removed,
    point,
  }: {
    build: InstalledBuild;
    env: Readonly<Record<string, string>>;
    removed: readonly Subject[];
    point: string;
  },
): Promise<Removals> {
  const back = await countAlive(source, removed);
  await toItsEnd(build.run('erase-again', env, ['--since', point]));
  return { removed: removed.length, back, remaining: await countAlive(source, removed) };
}

async function countAlive(source: DataSource, subjects: readonly Subject[]): Promise<number> {
  const [row] = await source.query<{ alive: number }[]>(
    `SELECT count(*)::int AS alive FROM students WHERE id = ANY($1) AND removed_at IS NULL`,
    [subjects.map(({ studentId }) => studentId)],
  );
  return row?.alive ?? 0;
}
