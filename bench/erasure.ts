/**
 * `npm run bench -- erasure` erases a club of 100,000 students and 1,000,000 deliveries. It measures deliveries and reads of other clubs
 * meanwhile, and the longest transaction. It also compares the rows removed a second with a bare `DELETE` in batches of 1,000.
 * `ERASURE_STUDENTS` and `ERASURE_DELIVERIES` make a quicker run.
 */
import { host } from '../dev/stack/ports.ts';
import { newId, type Id } from '../platform/core/ids.ts';
import { wake } from '../platform/engine/wakes.ts';
import type { Database } from '../platform/infra/postgres/database.ts';
import { sql } from '../platform/infra/postgres/sql.ts';
import { addClub, type BenchClub as ReadClub } from './clubs.ts';
import { deleteBare } from './erasure/bare.ts';
import { loadClub, rowsOfLoad, type LoadedClub, type Size } from './erasure/load.ts';
import { watchTransactions } from './erasure/transactions.ts';
import { median, progress, quantile, report, reportBeside, waitUntil, type Round } from './support.ts';
import { measureDelays, steadily, times } from './webhooks/pace.ts';
import { deliver, onWebhookScene, type BenchClub, type Listener, type Scene } from './webhooks/scene.ts';

export const erasureMeasurements = ['rows', 'others'];

const large: Size = {
  students: Number(process.env['ERASURE_STUDENTS'] ?? 100_000),
  deliveries: Number(process.env['ERASURE_DELIVERIES'] ?? 1_000_000),
};
/** The clubs of `rows` have this share of the students and deliveries. The tables have the rows of the large club, too. */
const shareOfRound = 0.1;
const rounds = 3;
/** Rounds with and without the erasure. */
const roundsBeside = 3;
const facts = 150;
const factsEveryMs = 200;
const readsEveryMs = 100;
const otherClubs = 10;
const studentsOfOthers = 1_000;
const warmUps = 100;
const erasedWithinMs = 60 * 60_000;

interface Erasing {
  scene: Scene;
  api: string;
  clubs: readonly BenchClub[];
  listener: Listener;
  readers: readonly ReadClub[];
}

/** @param selection names from `erasureMeasurements` */
export async function benchErasure(selection: readonly string[]): Promise<void> {
  const usual = async () => ({});
  await onWebhookScene((scene) => measure(scene, selection), usual, ['temporal', 'postgres', 'storage']);
}

async function measure(scene: Scene, selection: readonly string[]): Promise<void> {
  const { port } = await scene.launch('api/server.ts', 'API_PORT');
  const listener = await scene.addListener();
  const erasing: Erasing = {
    scene,
    api: `http://${host}:${port}`,
    listener,
    clubs: await scene.addClubs(Array.from({ length: otherClubs }, () => listener.url)),
    readers: await addReaders(scene.db),
  };
  await deliver(scene.db, erasing.clubs, warmUps);
  const club = await loaded(scene, 0, large);
  if (selection.includes('rows')) await measureRows(scene);
  if (selection.includes('others')) await measureOthers(erasing, club);
}

async function addReaders({ source }: Database): Promise<ReadClub[]> {
  const readers: ReadClub[] = [];
  while (readers.length < otherClubs) {
    const club = await addClub(source);
    await source.query(
      `INSERT INTO students (id, club_id, name, email, verified_at, created_at)
       SELECT gen_random_uuid(), $1, 'Student', n || '@example.com', now(), now() FROM generate_series(1, ${studentsOfOthers}) n`,
      [club.id],
    );
    readers.push(club);
  }
  return readers;
}

async function loaded({ db, databaseUrl }: Scene, number: number, size: Size): Promise<LoadedClub> {
  const startedAt = performance.now();
  const club = await loadClub(db, databaseUrl, number, size);
  progress(`${rowsOfLoad(size)} rows loaded in ${Math.round((performance.now() - startedAt) / 1_000)} s`);
  return club;
}

/** Two equal clubs in each round: the service erases one of them, and a bare loop the other. */
async function measureRows(scene: Scene): Promise<void> {
  const size = { students: large.students * shareOfRound, deliveries: large.deliveries * shareOfRound };
  const measured: Round[] = [];
  for (let round = 1; round <= rounds; round++) {
    const [ours, bare] = [await loaded(scene, 2 * round - 1, size), await loaded(scene, 2 * round, size)];
    const figures = { ours: await rowsPerSecond(scene.db, ours.id), bare: await deleteBare(scene.databaseUrl, bare) };
    measured.push(figures);
    progress(`round ${round}: ${Math.round(figures.ours)} rows/s, bare ${Math.round(figures.bare)} rows/s`);
  }
  reportBeside('erased rows/s', measured);
}

/** Erases the club alone. @returns the rows a second while rows are erased */
async function rowsPerSecond(db: Database, clubId: Id): Promise<number> {
  await begin(db, clubId);
  let beganAt = 0;
  await waitUntil(
    'the rows are erased',
    async () => {
      const { status } = await standing(db, clubId);
      if (beganAt === 0 && status === 'rows') beganAt = performance.now();
      return !['planned', 'closing', 'rows'].includes(status);
    },
    { timeoutMs: erasedWithinMs, everyMs: 50, progressSoFar: () => soFar(db, clubId) },
  );
  const seconds = (performance.now() - beganAt) / 1_000;
  return (await standing(db, clubId)).rows / seconds;
}

async function measureOthers(erasing: Erasing, { id }: LoadedClub): Promise<void> {
  const { scene } = erasing;
  const alone: Delays[] = [];
  const beside: Delays[] = [];
  for (let round = 1; round <= roundsBeside; round++) {
    progress(`round ${round} of ${roundsBeside}: alone`);
    alone.push(await measureRound(erasing));
  }
  const watch = await watchTransactions(scene.databaseUrl);
  await begin(scene.db, id);
  await waitUntil('rows are erased', async () => (await standing(scene.db, id)).status === 'rows', {
    timeoutMs: erasedWithinMs,
    everyMs: 100,
    progressSoFar: () => soFar(scene.db, id),
  });
  for (let round = 1; round <= roundsBeside; round++) {
    progress(`round ${round} of ${roundsBeside}: beside; ${await soFar(scene.db, id)}`);
    beside.push(await measureRound(erasing));
    if ((await standing(scene.db, id)).status !== 'rows')
      throw new Error('The rows were gone before the measurement ended. Use more deliveries.');
  }
  await waitUntil('the rows are erased', async () => (await standing(scene.db, id)).status !== 'rows', {
    timeoutMs: erasedWithinMs,
    everyMs: 500,
    progressSoFar: () => soFar(scene.db, id),
  });
  const longest = await watch.stop();
  progress(`the longest transaction lasted ${Math.round(longest.ms)} ms: ${longest.statement}`);
  reportRatio('p95 ms from commit to arrival, other clubs', alone, beside, ({ arrivals }) => arrivals);
  reportRatio('p95 ms of reads, other clubs', alone, beside, ({ reads }) => reads);
  report('longest transaction ms', { value: longest.ms });
}

function reportRatio(
  figure: string,
  alone: readonly Delays[],
  beside: readonly Delays[],
  timesOf: (one: Delays) => readonly number[],
): void {
  const p95 = (all: readonly Delays[]) => median(all.map((one) => quantile(timesOf(one), 0.95)));
  const [value, without] = [p95(beside), p95(alone)];
  report(figure, { value, without, ratio: value / without }, roundsBeside);
}

/** The times of one round, in milliseconds. */
interface Delays {
  /** From the commit of a fact to its arrival. */
  arrivals: readonly number[];
  reads: readonly number[];
}

/** Facts and reads of other clubs at a steady rate. */
async function measureRound({ scene, api, clubs, listener, readers }: Erasing): Promise<Delays> {
  const reads: number[] = [];
  let isOver = false;
  const reading = steadily(
    readsEveryMs,
    async (index) => {
      const startedAt = performance.now();
      await read(api, readers[index % readers.length] as ReadClub);
      reads.push(performance.now() - startedAt);
    },
    () => !isOver,
  );
  const arrivals = await measureDelays(scene.db, listener, clubs, { everyMs: factsEveryMs, goOn: times(facts) });
  isOver = true;
  await reading;
  return { arrivals, reads };
}

/** @throws Error if the answer is no page: a refusal is quick */
async function read(api: string, { id, token }: ReadClub): Promise<void> {
  const answer = await fetch(`${api}/v1/clubs/${id}/students?page_size=20`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`A list of students was answered with ${answer.status} ${text}`);
}

/** The 14 days of the plan are over. */
async function begin(db: Database, clubId: Id): Promise<void> {
  const now = new Date();
  await db.transaction(async (tx) => {
    await tx.run(sql`
      INSERT INTO erasures (id, kind, subject_id, club_id, requested_at, erases_at, status, looks_at)
      VALUES (${newId()}, 'club', ${clubId}, ${clubId}, ${now}, ${now}, 'planned', ${now})`);
    await wake(tx, 'clubErasure', [{ subjectId: clubId, clubId }], now);
  });
}

interface Standing {
  status: string;
  rows: number;
}

async function standing(db: Database, clubId: Id): Promise<Standing> {
  const row = await db.one<Standing>(sql`
    SELECT status, (SELECT coalesce(sum(value::bigint), 0)::float8 FROM jsonb_each_text(counts->'tables')) AS rows
      FROM erasures WHERE subject_id = ${clubId}`);
  return row ?? { status: 'planned', rows: 0 };
}

async function soFar(db: Database, clubId: Id): Promise<string> {
  const { status, rows } = await standing(db, clubId);
  return `${status}, ${rows} rows erased`;
}
