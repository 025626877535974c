/**
 * `npm run prove -- faults erasure` erases three clubs with together 20,000 students, while facts, notices and uploads of these clubs still
 * arrive. It kills the API, the worker, Postgres, S3 and Temporal at random times, and the worker at each step of an erasure. Afterwards it
 * compares every row and every object with those from before the clubs existed: nothing of them may be left, and the fourth club must be as
 * before. `--students N` makes a shorter run.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { DataSource } from 'typeorm';
import { readConfig } from '../../../config.ts';
import { messageOf, Problem } from '../../../dev/problem.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import type { ErasureStatus } from '../../../entities/erasures/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import { Database } from '../../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../../platform/infra/postgres/notifications.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { startArrivals, type Arrivals } from './erasure/arrivals.ts';
import { buildProofClub, openRuns, type ProofClub } from './erasure/clubs.ts';
import { copyStudent, rowsAbout } from './erasure/copies.ts';
import { openBuckets, type Buckets } from './erasure/objects.ts';
import { shareStack } from './erasure/share.ts';
import { readRows } from './erasure/snapshots.ts';
import { readTables } from './erasure/tables.ts';
import { tallyErasures, type ErasureTally, type Remains } from './erasure/tally.ts';
import { untilDone } from './patience.ts';
import { elapsedSeconds, progress } from './progress.ts';
import { between } from './ranges.ts';
import { triggerRetention } from './retention.ts';
import { killAtStep } from './steps.ts';
import { killInTurn } from './turns.ts';
import { onGround, type Ground, type Victim } from './victims.ts';

const usualStudents = 20_000;
const erasedClubs = 3;
/** Each round begins the erasure of the next clubs. */
const beginsInRound = [2, 1] as const;
const objectsPerPrefix = 20;
const runsPerKind = 100;
const aliveForMs = { least: 1_000, most: 6_000 };
const deadForMs = { least: 0, most: 3_000 };
/** The failpoints of an erasure, and the state in which the worker reaches each. */
const failpoints: Readonly<Record<string, ErasureStatus>> = {
  erasure_closing: 'closing',
  erased_rows_written: 'rows',
  erased_rows_recorded: 'rows',
  erasure_rows: 'rows',
  erasure_runs: 'runs',
  erasure_objects: 'objects',
};
const victims = [
  'erasure_closing',
  'API',
  'erased_rows_written',
  'worker',
  'erased_rows_recorded',
  'Postgres',
  'erasure_rows',
  'S3',
  'erasure_runs',
  'Temporal',
  'erasure_objects',
] as const;
/** The time limit for the next state of an erasure. */
const stateWithinMs = 5 * 60_000;
/** The time limit for the last erasure: a lease of 30 s, the sweeper, and many steps on a slow machine. */
const deadlineMs = 20 * 60_000;
/** Until nothing changes any more before the erasures, and after them. */
const quietWithinMs = 8 * 60_000;
/** Longer than a round of the upkeep, and than the pauses of the relay and of repeated steps. */
const quietForMs = 40_000;
const lookEveryMs = 2_000;
const statuses: readonly ErasureStatus[] = ['planned', 'closing', 'rows', 'runs', 'objects', 'completed'];

/** @returns the exit code */
export async function erasureFaults(interrupted: Promise<unknown>, args: readonly string[]): Promise<number> {
  const students = studentsIn(args);
  const directory = await mkdtemp(path.join(os.tmpdir(), 'club-learning-erasures-'));
  try {
    return (
      (await onGround(interrupted, (ground) => run(ground, directory, students), {}, [
        'temporal',
        'postgres',
        'storage',
      ])) ?? 130
    );
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function studentsIn(args: readonly string[]): number {
  const usage = `Usage: npm run prove -- faults erasure [--students N], where N is a whole number from 100, for example 3000.`;
  let students: number;
  try {
    students = Number(
      parseArgs({ args: [...args], options: { students: { type: 'string' } } }).values.students ?? usualStudents,
    );
  } catch (error) {
    throw new Problem(`${messageOf(error).split('. ')[0]}. ${usage}`);
  }
  if (!Number.isInteger(students) || students < 100) throw new Problem(usage);
  return students;
}

interface Scene {
  ground: Ground;
  source: DataSource;
  db: Database;
  buckets: Buckets;
}

async function run(ground: Ground, directory: string, students: number): Promise<number> {
  const unshare = await shareStack({ environment: ground.env, directory });
  const config = readConfig(ground.env);
  const source = await createDataSource(config.database, 'club-faults').initialize();
  const db = new Database(
    source,
    createNotifier(source, () => {}),
  );
  const buckets = await openBuckets(config.storage);
  try {
    return await eraseWhileKilling({ ground, source, db, buckets }, students);
  } finally {
    buckets.close();
    await source.destroy();
    await unshare();
  }
}

async function eraseWhileKilling(scene: Scene, students: number): Promise<number> {
  const { ground, source, db, buckets } = scene;
  const { club: bystander, empty } = await buildProofClub(source);
  progress(`the bystander has rows in all tables but ${empty.join(', ')}`);
  await openRuns(db, bystander.id, runsPerKind);
  await buckets.fill(bystander.id, objectsPerPrefix);
  const before = await untilQuiet(scene);
  progress(`${before.rows.size} rows and ${before.objects.size} objects must stay`);

  const clubs = await buildErasedClubs(scene, students);
  const traces = { ids: await idsOf(source, clubs), words: clubs.map(({ word }) => word) };
  const arrivals = startArrivals(db, ground.urls.API, clubs);
  const beganAt = elapsedSeconds();
  const { kills, missed } = await killThroughErasures(scene, clubs);
  progress('all processes run again; waiting for the end of the erasures');
  await untilStatus(source, 'objects', clubs, deadlineMs);
  await arrivals.stop();
  const erased = await untilErased(scene, clubs);
  await forgetFaults(scene);
  const after = await untilQuiet(scene);
  const tally = tallyErasures(before, after, traces);
  print(
    `${kills} kills in ${(elapsedSeconds() - beganAt).toFixed(0)} s, ${missed} of them not at their step; processes that ended by themselves: ${ground.endedByItself}`,
  );
  return report(erased, tally, arrivals.counts);
}

async function buildErasedClubs({ ground, source, db, buckets }: Scene, students: number): Promise<ProofClub[]> {
  const url = readConfig(ground.env).database.url.reveal();
  const tables = await readTables(source);
  const clubs: ProofClub[] = [];
  while (clubs.length < erasedClubs) clubs.push((await buildProofClub(source)).club);
  const bases = [];
  for (const { student } of clubs) bases.push(await rowsAbout(source, tables, student.id));
  for (const [number, club] of clubs.entries()) {
    const base = bases[number];
    if (!base) continue;
    const counts = await copyStudent(url, base, number, Math.floor(students / erasedClubs));
    const objects = await buckets.fill(club.id, objectsPerPrefix);
    const runs = await openRuns(db, club.id, runsPerKind);
    const rows = Object.values(counts).reduce((one, other) => one + other, 0);
    progress(
      `club ${number + 1} has ${rows} rows in ${Object.keys(counts).length} tables of students, ${objects} versions and ${runs} runs`,
    );
  }
  await source.query('ANALYZE');
  await untilSent(source);
  return clubs;
}

/** Waits until the relay has started the runs. Otherwise the erasure would delete the wakes, and would find no runs. */
async function untilSent(source: DataSource): Promise<void> {
  const deadline = performance.now() + stateWithinMs;
  for (let wakes = 1; wakes > 0 && performance.now() < deadline; await sleep(lookEveryMs)) {
    const [row] = await source.query<{ wakes: number }[]>(`SELECT count(*)::int AS wakes FROM wakes`);
    wakes = row?.wakes ?? 0;
  }
}

/** @returns the ids of the clubs, and of all their students and members, as far as they are not accounts of administrators */
async function idsOf(source: DataSource, clubs: readonly ProofClub[]): Promise<Set<string>> {
  const ids = clubs.map(({ id }) => id);
  const students = await source.query<{ id: Id }[]>(`SELECT id FROM students WHERE club_id = ANY ($1)`, [ids]);
  return new Set([...ids, ...students.map(({ id }) => id)]);
}

async function killThroughErasures(
  scene: Scene,
  clubs: readonly ProofClub[],
): Promise<{ kills: number; missed: number }> {
  const { ground, source } = scene;
  let missed = 0;
  let place = 0;
  const isFailpoint = (victim: string): boolean => Object.hasOwn(failpoints, victim);
  const kills = await killInTurn({
    victims,
    rounds: beginsInRound.length,
    deadForMs,
    async beforeKill() {
      const round = Math.floor(place / victims.length);
      if (place++ % victims.length === 0) {
        const from = beginsInRound.slice(0, round).reduce<number>((sum, count) => sum + count, 0);
        for (const { id } of clubs.slice(from, from + (beginsInRound[round] ?? 0))) await begin(scene, id);
      }
      await sleep(between(aliveForMs));
    },
    async kill(victim) {
      const status = failpoints[victim];
      if (status === undefined) return ground.kill(victim as Victim);
      const isReached = await untilStatusOfOne(scene, status);
      missed += isReached && (await killAtStep(ground, victim)) ? 0 : 1;
      if (!isReached) await ground.kill('worker');
    },
    startAgain: (victim) => ground.startAgain(isFailpoint(victim) ? 'worker' : (victim as Victim)),
    standing: () => `round ${Math.floor((place - 1) / victims.length) + 1}`,
  });
  progress(await standing(source, clubs));
  return { kills: kills.length, missed };
}

/** The 14 days of the plan are over. */
async function begin({ db }: Scene, clubId: Id): Promise<void> {
  const now = new Date();
  const id = newId();
  await untilDone(() =>
    db.transaction(async (tx) => {
      await tx.run(sql`
        INSERT INTO erasures (id, kind, subject_id, club_id, requested_at, erases_at, status, looks_at)
        VALUES (${id}, 'club', ${clubId}, ${clubId}, ${now}, ${now}, 'planned', ${now}) ON CONFLICT DO NOTHING`);
      await wake(tx, 'clubErasure', [{ subjectId: clubId, clubId }], now);
    }),
  );
}

/** Waits until an erasure is in this state, or will soon be. @returns false if all erasures that began are past it */
async function untilStatusOfOne(scene: Scene, status: ErasureStatus): Promise<boolean> {
  const deadline = performance.now() + stateWithinMs;
  while (performance.now() < deadline) {
    const now = await untilDone(() => statusesOf(scene.source));
    if (now.every((one) => statuses.indexOf(one) > statuses.indexOf(status))) return false;
    // The kill restarts the worker, which takes seconds. So it may begin one state early, if that state is short.
    if (now.includes(status) || (status === 'closing' && now.includes('planned'))) {
      if (status === 'objects') await lookNow(scene);
      return true;
    }
    await sleep(200);
  }
  return false;
}

async function statusesOf(source: DataSource): Promise<ErasureStatus[]> {
  const rows = await source.query<{ status: ErasureStatus }[]>(`SELECT status FROM erasures WHERE kind = 'club'`);
  return rows.map(({ status }) => status);
}

async function untilStatus(
  source: DataSource,
  status: ErasureStatus,
  clubs: readonly ProofClub[],
  withinMs: number,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  for (let looks = 1; performance.now() < deadline; looks++) {
    const now = await untilDone(() => statusesOf(source));
    if (now.length === clubs.length && now.every((one) => statuses.indexOf(one) >= statuses.indexOf(status))) return;
    if (looks % 15 === 0) progress(await standing(source, clubs));
    await sleep(lookEveryMs);
  }
  progress('the time is over');
}

/** The next look at erased objects is a day later. Until then no signed address of an upload works any more, so nothing arrives. */
async function lookNow({ db }: Scene): Promise<void> {
  await untilDone(() =>
    db.transaction(async (tx) => {
      const now = new Date();
      const waiting = await tx.rows<{ subjectId: Id; clubId: Id }>(sql`
        UPDATE erasures SET closed_at = closed_at - interval '2 days', looks_at = ${now}
         WHERE status = 'objects' AND kind = 'club' AND looks_at > now() + interval '1 minute' AND lease_until IS NULL
        RETURNING subject_id AS "subjectId", club_id AS "clubId"`);
      await wake(tx, 'clubErasure', waiting, now);
    }),
  );
}

/** @returns the number of erased clubs */
async function untilErased(scene: Scene, clubs: readonly ProofClub[]): Promise<number> {
  const deadline = performance.now() + deadlineMs;
  const count = async () => {
    const [row] = await scene.source.query<{ count: number }[]>(
      `SELECT count(*)::int AS count FROM erasures WHERE subject_id = ANY ($1) AND status = 'completed'
          AND NOT EXISTS (SELECT FROM clubs WHERE clubs.id = subject_id)`,
      [clubs.map(({ id }) => id)],
    );
    return row?.count ?? 0;
  };
  for (let looks = 1; performance.now() < deadline; looks++) {
    await lookNow(scene);
    if ((await untilDone(count)) === clubs.length) return clubs.length;
    if (looks % 15 === 0) progress(await standing(scene.source, clubs));
    await sleep(lookEveryMs);
  }
  progress('the time is over');
  return untilDone(count);
}

/** A step that fails when its row is already erased leaves its fault, which the upkeep forgets after ten minutes. They are over here. */
async function forgetFaults({ source }: Scene): Promise<void> {
  await untilDone(() => source.query(`UPDATE failing_steps SET retry_at = retry_at - interval '1 hour'`));
}

async function standing(source: DataSource, clubs: readonly ProofClub[]): Promise<string> {
  const rows = await untilDone(() =>
    source.query<{ line: string }[]>(
      `SELECT status || ' with ' || coalesce((SELECT sum(value::bigint) FROM jsonb_each_text(counts->'tables')), 0) || ' rows' AS line
         FROM erasures WHERE subject_id = ANY ($1) ORDER BY requested_at`,
      [clubs.map(({ id }) => id)],
    ),
  );
  return `the erasures: ${rows.map(({ line }) => line).join(', ')}`;
}

/** Waits until two readings are equal: all rows that were due are done. */
async function untilQuiet(scene: Scene): Promise<Remains> {
  const ends = performance.now() + quietWithinMs;
  let last = await readRemains(scene);
  for (;;) {
    await triggerRetention(scene.ground);
    await sleep(quietForMs);
    const next = await readRemains(scene);
    const { rowsLeft, othersChanged } = tallyErasures(last, next, { ids: new Set(), words: [] });
    const changed = [...rowsLeft, ...othersChanged];
    if (changed.length === 0) return next;
    progress(`not yet quiet: ${changed.slice(0, 8).join('; ')}`);
    if (performance.now() > ends) return next;
    last = next;
  }
}

async function readRemains({ ground, source, buckets }: Scene): Promise<Remains> {
  return {
    rows: await readRows(source, await readTables(source)),
    objects: await buckets.list(),
    runs: await runningIds(ground),
  };
}

async function runningIds(ground: Ground): Promise<string[]> {
  const { address, namespace } = readConfig(ground.env).temporal;
  const connection = await NativeConnection.connect({ address });
  try {
    const { workflow } = new Client({ connection, namespace });
    const ids: string[] = [];
    for await (const { workflowId, searchAttributes } of workflow.list({ query: `ExecutionStatus = 'Running'` }))
      // oxlint-disable-next-line typescript/no-deprecated -- the typed form omits attributes of this namespace
      ids.push(`${workflowId} ${String(searchAttributes['ClubId'] ?? '')}`);
    return ids;
  } finally {
    await connection.close();
  }
}

function report(erased: number, tally: ErasureTally, arrivals: Arrivals): number {
  for (const [kind, { accepted, refused, unanswered }] of Object.entries(arrivals))
    print(`${kind}: ${accepted} accepted, ${refused} refused, ${unanswered} without an answer`);
  const { rowsLeft, objectsLeft, runsLeft, othersChanged } = tally;
  const lists = [rowsLeft, objectsLeft, runsLeft, othersChanged];
  for (const list of lists) list.slice(0, linesPerKind).forEach(print);
  print(
    `clubs erased ${erased}, rows left ${rowsLeft.length}, objects left ${objectsLeft.length}, runs left ${runsLeft.length}, others changed ${othersChanged.length}`,
  );
  return erased === erasedClubs && lists.every((list) => list.length === 0) ? 0 : 1;
}

const linesPerKind = 40;
const print = (line: string) => process.stdout.write(`${line}\n`);
