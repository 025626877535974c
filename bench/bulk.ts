/** Bulk jobs. `tags`: the time of a job that tags 1,000 students, and the reads of another club meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { readConfig } from '../config.ts';
import { migrate } from '../commands/migrate.ts';
import { createDataSource } from '../entities/data-source.ts';
import type { Id } from '../platform/core/ids.ts';
import { addClub, type BenchClub } from './clubs.ts';
import { onFreshStack, progress, quantile, report } from './support.ts';

const students = 1_000;
const rounds = 7;
const readsAlone = 300;
const readEveryMs = 20;
const pollEveryMs = 50;
const limitMs = 60_000;
/** The p95 of the reads is a multiple of their p95 without a job. */
const aims = { jobMs: 5_000, reads: 2 };

export const bulkMeasurements = ['tags'];

export async function benchBulk(): Promise<void> {
  await onFreshStack(['temporal', 'postgres', 'storage'], async ({ env, launch }) => {
    const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
    await migrate(source);
    const api = await launch('api/server.ts', 'API_PORT');
    await launch('worker/main.ts', 'WORKER_PORT');
    const base = `http://127.0.0.1:${api.port}`;
    const [tagging, reading] = [await addClub(source), await addClub(source)];
    await addStudents(source, tagging.id);
    await addStudents(source, reading.id);
    await source.query('ANALYZE');
    await tagAll(base, source, tagging, 'warm-up');
    await readWhile(base, reading, (count) => count < readsAlone);
    const alone = quantile(await readWhile(base, reading, (count) => count < readsAlone), 0.95);
    const tookMs: number[] = [];
    let over = false;
    const jobs = (async () => {
      for (let round = 0; round < rounds; round++) tookMs.push(await tagAll(base, source, tagging, `tag-${round}`));
    })().finally(() => {
      over = true;
    });
    const beside = await readWhile(base, reading, () => !over);
    await jobs;
    progress(`${beside.length} reads beside ${rounds} jobs: ${tookMs.map(Math.round).join(', ')} ms`);
    report(`bulk job of ${students} tags: ms`, { value: quantile(tookMs, 0.5), aim: aims.jobMs });
    const value = quantile(beside, 0.95);
    report('p95 ms of another club’s reads beside bulk jobs', { value, alone, ratio: value / alone, aim: aims.reads });
    await source.destroy();
  });
}

async function addStudents(source: DataSource, clubId: Id): Promise<void> {
  await source.query(
    `INSERT INTO students (id, club_id, name, email, opened_by, created_at)
     SELECT gen_random_uuid(), $1, 'Student ' || at, 'student-' || at || '@example.com', 'club', now() FROM generate_series(1, $2) AS at`,
    [clubId, students],
  );
}

/** @returns milliseconds until the end of the job */
async function tagAll(base: string, source: DataSource, { id, token }: BenchClub, name: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const club = `${base}/v1/clubs/${id}`;
  const [tag] = await source.query<{ id: Id }[]>(
    `INSERT INTO tags (id, club_id, name, folded_name, created_at) VALUES (gen_random_uuid(), $1, $2, $2, now()) RETURNING id`,
    [id, name],
  );
  const list = Array.from({ length: students }, (_, at) => ({ email: `student-${at + 1}@example.com` }));
  const started = performance.now();
  const body = JSON.stringify({ students: list });
  const accepted = await fetch(`${club}/tags/${tag?.id}/bulk-tag`, { method: 'POST', headers, body });
  if (accepted.status !== 202)
    throw new Error(`The bulk job was answered ${accepted.status}: ${await accepted.text()}`);
  const { data } = (await accepted.json()) as { data: { id: Id } };
  for (;;) {
    const answer = await fetch(`${club}/bulk-jobs/${data.id}`, { headers });
    const { data: job } = (await answer.json()) as { data: { status: string; applied: number } };
    if (job.status === 'completed' && job.applied === students) return performance.now() - started;
    if (job.status === 'completed' || performance.now() - started > limitMs)
      throw new Error(`The bulk job is ${job.status} after ${job.applied} students.`);
    await sleep(pollEveryMs);
  }
}

/** @returns milliseconds of each read of the club's students */
async function readWhile(base: string, { id, token }: BenchClub, goOn: (count: number) => boolean): Promise<number[]> {
  const delays: number[] = [];
  while (goOn(delays.length)) {
    const startedAt = performance.now();
    const answer = await fetch(`${base}/v1/clubs/${id}/students`, { headers: { authorization: `Bearer ${token}` } });
    await answer.text();
    if (!answer.ok) throw new Error(`A read of another club was answered ${answer.status}.`);
    delays.push(performance.now() - startedAt);
    await sleep(readEveryMs);
  }
  return delays;
}
