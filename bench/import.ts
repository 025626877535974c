/**
 * The cost of an import. `rows`: rows a second and the worker's memory for 5,000 and 50,000 rows, beside one bulk INSERT. `fairness`: the
 * reads of another club while three imports with invitations run.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { readConfig } from '../config.ts';
import type { Id } from '../platform/core/ids.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../commands/migrate.ts';
import { addClub, type BenchClub } from './clubs.ts';
import { onFreshStack, progress, quantile, report } from './support.ts';
import { untilIdle, watchCost, watchMemory } from './webhooks/process-cost.ts';

const warmUpRows = 1_000;
const sizes = [5_000, 50_000] as const;
const limitMs = 300_000;

export const importMeasurements = ['rows', 'fairness'];

export async function benchImport(selection: readonly string[]): Promise<void> {
  await onFreshStack(['temporal', 'postgres', 'storage'], async ({ env, launch }) => {
    const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
    await migrate(source);
    const api = await launch('api/server.ts', 'API_PORT');
    const worker = await launch('worker/main.ts', 'WORKER_PORT');
    const pid = worker.child.pid ?? 0;
    const base = `http://127.0.0.1:${api.port}`;
    await importInto(base, await addClub(source), warmUpRows);
    if (selection.includes('fairness')) await measureFairness(base, source);
    for (const rows of selection.includes('rows') ? sizes : []) {
      await untilIdle(pid);
      progress(`${rows} rows`);
      const club = await addClub(source);
      const { memoryMb: before } = await watchCost(pid, 1);
      const memory = watchMemory(pid);
      const tookMs = await importInto(base, club, rows);
      const peakMb = await memory.stop();
      const bareMs = await insertAtOnce(source, await addClub(source), rows);
      const perSecond = (ms: number) => rows / (ms / 1_000);
      report(`import of ${rows} rows: rows/s`, {
        value: perSecond(tookMs),
        ceiling: perSecond(bareMs),
        ratio: bareMs / tookMs,
      });
      report(`import of ${rows} rows: worker MB`, { value: peakMb, before });
    }
    await source.destroy();
  });
}

/** This number of imports runs in parallel, for one club. */
const imports = 3;
const rowsOfEach = 5_000;
const readsAlone = 300;
const readEveryMs = 20;
/** The p95 of the reads, as a multiple of their p95 without imports. */
const aim = 2;

async function measureFairness(base: string, source: DataSource): Promise<void> {
  const [importing, reading] = [await addClub(source), await addClub(source)];
  await importInto(base, reading, warmUpRows);
  const read = async () => {
    const startedAt = performance.now();
    const answer = await fetch(`${base}/v1/clubs/${reading.id}/students`, {
      headers: { authorization: `Bearer ${reading.token}` },
    });
    await answer.text();
    if (!answer.ok) throw new Error(`A read of another club was answered ${answer.status}.`);
    return performance.now() - startedAt;
  };
  const readWhile = async (goOn: (count: number) => boolean) => {
    const delays: number[] = [];
    while (goOn(delays.length)) {
      delays.push(await read());
      await sleep(readEveryMs);
    }
    return delays;
  };
  await readWhile((count) => count < readsAlone);
  const alone = await readWhile((count) => count < readsAlone);
  let over = false;
  const running = Promise.all(
    Array.from({ length: imports }, (_, at) =>
      importInto(base, importing, rowsOfEach, { query: '&invite=true', from: at * rowsOfEach }),
    ),
  ).finally(() => {
    over = true;
  });
  const beside = await readWhile(() => !over);
  await running;
  const [value, ofAlone] = [quantile(beside, 0.95), quantile(alone, 0.95)];
  progress(`${beside.length} reads beside the imports`);
  report(`p95 ms of another club’s reads beside ${imports} imports`, {
    value,
    alone: ofAlone,
    ratio: value / ofAlone,
    aim,
  });
}

/** @returns milliseconds from the beginning of the upload */
async function importInto(
  base: string,
  { id, token, deliveryId }: BenchClub,
  rows: number,
  { query = '', from = 0 } = {},
): Promise<number> {
  const lines = Array.from({ length: rows }, (_, at) => `student-${from + at}@example.com,Student Number ${at}\n`);
  const path = `${base}/v1/clubs/${id}/student-imports`;
  const headers = { authorization: `Bearer ${token}` };
  const started = performance.now();
  const accepted = await fetch(`${path}?delivery_ids=${deliveryId}${query}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'text/csv' },
    body: `email,name\n${lines.join('')}`,
  });
  const { data } = (await accepted.json()) as { data: { id: Id } };
  for (;;) {
    const answer = await fetch(`${path}/${data.id}`, { headers });
    const { data: now } = (await answer.json()) as { data: { status: string; created: number } };
    if (now.status === 'completed' && now.created === rows) return performance.now() - started;
    if (now.status === 'failed' || performance.now() - started > limitMs) {
      throw new Error(`The import is ${now.status} after ${now.created} rows.`);
    }
    await sleep(50);
  }
}

/** Inserts only students and enrollments, with one statement for each table. A real import writes more rows. @returns milliseconds */
async function insertAtOnce(source: DataSource, { id, deliveryId }: BenchClub, rows: number): Promise<number> {
  const now = new Date();
  const started = performance.now();
  await source.transaction(async (tx) => {
    await tx.query(
      `INSERT INTO students (id, club_id, name, email, created_at)
       SELECT gen_random_uuid(), $1, 'Student Number ' || at, 'student-' || at || '@example.com', $2 FROM generate_series(1, $3) AS at`,
      [id, now, rows],
    );
    await tx.query(
      `INSERT INTO enrollments (id, club_id, student_id, delivery_id, source, starts_at, created_at, updated_at)
       SELECT gen_random_uuid(), $1, id, $2, 'import', $3, $3, $3 FROM students WHERE club_id = $1`,
      [id, deliveryId, now],
    );
  });
  return performance.now() - started;
}
