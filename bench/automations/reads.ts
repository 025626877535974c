/** Lists of runs, the path of a run, and the counts of steps (operation 9), with a thousand and a million runs. */
import { readConfig } from '../../config.ts';
import { readAutomation } from '../../domain/automations/records.ts';
import { listRuns, readCounts, readRun } from '../../domain/automations/runs.ts';
import { createDataSource } from '../../entities/data-source.ts';
import { migrate } from '../../commands/migrate.ts';
import type { Id } from '../../platform/core/ids.ts';
import { Database, type Queries } from '../../platform/infra/postgres/database.ts';
import { createVault } from '../../platform/infra/keys/vault.ts';
import { indexesOf } from '../reads-plans.ts';
import { onFreshStack, progress, quantile, report } from '../support.ts';
import { clubOf, publish } from './scene.ts';

const sizes = { short: 1_000, long: 1_000_000 };
/** Each student has several runs of the long automation (`reentry` `always`). */
const students = 50_000;
const samples = 200;

interface Seeded {
  clubId: Id;
  automationId: Id;
  studentId: Id;
  runId: Id;
}

type Read = (db: Queries, of: Seeded) => Promise<unknown>;
const first = { page: 1, page_size: 20 };
const runs =
  (filter: (of: Seeded) => object): Read =>
  (db, of) =>
    listRuns(db, of.clubId, of.automationId, { ...first, ...filter(of) });

const reads: Readonly<Record<string, Read>> = {
  'operation 9': (db, { clubId, automationId }) => readAutomation(db, clubId, automationId),
  'runs, all': runs(() => ({})),
  'runs, active': runs(() => ({ status: 'active' })),
  'runs, failed': runs(() => ({ status: 'failed' })),
  'runs, of a version': runs(() => ({ version: 1 })),
  'runs, of a version, active': runs(() => ({ version: 1, status: 'active' })),
  'runs, at a step': runs(() => ({ step_id: 'wait' })),
  'runs, at a step, of a version': runs(() => ({ step_id: 'wait', version: 1 })),
  'runs, of a student': runs(({ studentId }) => ({ student_id: studentId })),
  'runs, of a student, completed': runs(({ studentId }) => ({ student_id: studentId, status: 'completed' })),
  'a path': (db, { clubId, automationId, runId }) => readRun(db, clubId, automationId, runId),
  counts: (db, { clubId, automationId }) => readCounts(db, clubId, automationId, undefined),
};

export async function measureReads(): Promise<void> {
  await onFreshStack(['postgres'], async ({ env }) => {
    const config = readConfig(env);
    const source = await createDataSource(config.database, 'club-bench').initialize();
    await migrate(source);
    const db = new Database(source, { notify() {} });
    const { clubId, studentIds } = await clubOf({ db, vault: createVault(config.masterKey) }, students);
    const seed = async (count: number): Promise<Seeded> => {
      const { automationId } = await publish({ db, vault: createVault(config.masterKey) }, clubId, [
        { id: 'wait', kind: 'wait', wait: { kind: 'delay', amount: 300, unit: 'days' } },
        { id: 'points', kind: 'award_points', points: 1 },
      ]);
      return { clubId, automationId, ...(await loadRuns(db, { clubId, automationId, studentIds }, count)) };
    };
    const [short, long] = [await seed(sizes.short), await seed(sizes.long)];
    await source.query(
      'VACUUM ANALYZE automation_runs, automation_run_steps, automation_step_changes, list_tallies, list_tally_changes',
    );
    for (const [what, read] of Object.entries(reads)) await compare(db, what, read, short, long);
    await source.destroy();
  });
}

/** Most runs are completed; each other status has a few runs. @returns one of the runs */
async function loadRuns(
  { source }: Database,
  { clubId, automationId, studentIds }: { clubId: Id; automationId: Id; studentIds: readonly Id[] },
  count: number,
): Promise<Pick<Seeded, 'runId' | 'studentId'>> {
  const atOnce = 25_000;
  for (let remaining = count; remaining > 0; remaining -= atOnce) {
    await source.query(
      `WITH entered AS (
         INSERT INTO automation_runs (id, club_id, automation_id, version_id, student_id, status, exit_reason, error_code, cause_id, reentry, cursor,
                                      deadline, waiting, looks_at, entered_at, ended_at)
         SELECT gen_random_uuid(), $1, $2, (SELECT published_id FROM automations WHERE id = $2), student_id, status,
                CASE WHEN status = 'exited' THEN 'by_hand' END, CASE WHEN status = 'failed' THEN 'fault' END, gen_random_uuid(), 'always',
                CASE WHEN status <> 'completed' THEN 'wait' END, at + interval '300 days', status = 'active',
                CASE WHEN status = 'active' THEN at + interval '300 days' END, at, CASE WHEN status <> 'active' THEN at END
           FROM (SELECT ($3::uuid[])[1 + (place::bigint * 7919) % $4::int] AS student_id, now() - interval '1 second' * ($6::int - place) AS at,
                        (ARRAY['completed', 'completed', 'completed', 'completed', 'completed', 'completed', 'active', 'active', 'exited', 'failed'])[1 + (random() * 9)::int] AS status
                   FROM generate_series($6::int - $5::int + 1, $6::int) AS place) AS one
      RETURNING id, version_id, status, entered_at)
       INSERT INTO automation_run_steps (id, run_id, version_id, step_id, entered_at, left_at, outcome)
       SELECT gen_random_uuid(), id, version_id, 'wait', entered_at, CASE WHEN status = 'completed' THEN entered_at END, CASE WHEN status = 'completed' THEN 'time_over' END
         FROM entered`,
      [clubId, automationId, studentIds, studentIds.length, Math.min(remaining, atOnce), remaining],
    );
    if (remaining % 250_000 === 0) progress(`${remaining} runs are left to be loaded`);
  }
  const [run] = await source.query<Pick<Seeded, 'runId' | 'studentId'>[]>(
    `SELECT id AS "runId", student_id AS "studentId" FROM automation_runs WHERE automation_id = $1 ORDER BY entered_at LIMIT 1`,
    [automationId],
  );
  if (!run) throw new Error('No runs were loaded.');
  return run;
}

/** Measures both alternately, so that other load on the machine affects both. */
async function compare(db: Database, figure: string, read: Read, short: Seeded, long: Seeded): Promise<void> {
  const took = { short: [] as number[], long: [] as number[] };
  for (let sample = 0; sample < samples; sample++) {
    for (const [size, seeded] of [
      ['short', short],
      ['long', long],
    ] as const) {
      const started = performance.now();
      await read(db, seeded);
      took[size].push(performance.now() - started);
    }
  }
  const [value, before] = [quantile(took.long, 0.95), quantile(took.short, 0.95)];
  report(`${figure} p95 ms`, { value, [`at ${sizes.short}`]: before, ratio: value / before });
  process.stdout.write(`    ${(await indexesOf(db.source, (tx) => read(tx, long))).join(', ')}\n`);
}
