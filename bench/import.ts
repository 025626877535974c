/** What an import costs: rows a second and the worker's memory at 5,000 and at 50,000 rows, beside one bulk INSERT of the same. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { readConfig } from '../config.ts';
import { createOrganization } from '../domain/clubs/organizations.ts';
import { newId, type Id } from '../platform/core/ids.ts';
import { openSession } from '../domain/identity/sessions.ts';
import { createDataSource } from '../entities/data-source.ts';
import { Transaction } from '../platform/infra/postgres/database.ts';
import { migrate } from '../entities/migrate.ts';
import { onFreshStack, progress, report } from './support.ts';
import { untilIdle, watchCost } from './webhooks/process-cost.ts';

const warmUpRows = 1_000;
const sizes = [5_000, 50_000] as const;
const limitMs = 300_000;

interface Club {
  id: Id;
  token: string;
  deliveryId: Id;
}

export async function benchImport(): Promise<void> {
  await onFreshStack(['temporal', 'postgres', 'storage'], async ({ env, launch }) => {
    const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
    await migrate(source);
    const api = await launch('api/server.ts', 'API_PORT');
    const worker = await launch('worker/main.ts', 'WORKER_PORT');
    const pid = worker.child.pid ?? 0;
    const base = `http://127.0.0.1:${api.port}`;
    await importInto(base, await addClub(source), warmUpRows);
    for (const rows of sizes) {
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

/** A club that may have so many students, with a delivery. */
async function addClub(source: DataSource): Promise<Club> {
  const [administratorId, courseId, deliveryId, now] = [newId(), newId(), newId(), new Date()];
  await source.query(
    `INSERT INTO administrators (id, name, email, verified_at, created_at) VALUES ($1, 'Ada', $2, $3, $3)`,
    [administratorId, `${administratorId}@example.com`, now],
  );
  return source.transaction(async (tx) => {
    const { organization_id: id } = await createOrganization(
      new Transaction(tx),
      administratorId,
      { name: `Club ${administratorId}`, plan: 'professional' },
      now,
    );
    await tx.query(
      `INSERT INTO club_plans (club_id, plan, status) VALUES ($1, 'business', 'active')
       ON CONFLICT (club_id) DO UPDATE SET plan = 'business'`,
      [id],
    );
    await tx.query(
      `INSERT INTO courses (id, club_id, public_id, title, status, created_at, updated_at, published_at)
       VALUES ($1, $2, 'course', 'Knots', 'published', $3, $3, $3)`,
      [courseId, id, now],
    );
    await tx.query(
      `INSERT INTO access_deliveries (id, club_id, name, kind, course_id, created_at, updated_at)
       VALUES ($1, $2, 'Knots', 'course', $3, $4, $4)`,
      [deliveryId, id, courseId, now],
    );
    const { token } = await openSession(new Transaction(tx), 'admin', administratorId, now);
    return { id, token, deliveryId };
  });
}

/** @returns milliseconds from the beginning of the upload to the import's completion */
async function importInto(base: string, { id, token, deliveryId }: Club, rows: number): Promise<number> {
  const lines = Array.from({ length: rows }, (_, at) => `student-${at}@example.com,Student Number ${at}\n`);
  const path = `${base}/v1/clubs/${id}/student-imports`;
  const headers = { authorization: `Bearer ${token}` };
  const started = performance.now();
  const accepted = await fetch(`${path}?delivery_ids=${deliveryId}`, {
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

/** The most that the process has in memory, looked at four times a second. */
function watchMemory(pid: number): { stop: () => Promise<number> } {
  let [max, isOver] = [0, false];
  const watching = (async () => {
    while (!isOver) max = Math.max(max, (await watchCost(pid, 0.25)).memoryMb);
  })();
  return {
    async stop() {
      isOver = true;
      await watching;
      return max;
    },
  };
}

/** Students and enrollments alone, one statement each: less than what an import has to write. @returns milliseconds */
async function insertAtOnce(source: DataSource, { id, deliveryId }: Club, rows: number): Promise<number> {
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
