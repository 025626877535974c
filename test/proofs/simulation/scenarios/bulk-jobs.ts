/** The scenario of several bulk jobs for the same students: batches are interrupted, jobs are canceled, and students are removed. */
import { beginAwarding, beginTagging, beginUntagging } from '../../../../domain/bulk/begin.ts';
import { cancelJob } from '../../../../domain/bulk/jobs.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { Decisions } from '../decisions.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, addressOf, addStudents, searchForTraces, type Footing } from './ground.ts';

export async function bulkJobs(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  const now = () => new Date(sim.time.now);
  const clubId = await addClub(sim, ground);
  const students = await addStudents(sim, ground, clubId, 5);
  const tagId = newId();
  await sim.postgres.ask(
    `INSERT INTO tags (id, club_id, name, folded_name, created_at) VALUES ($1, $2, 'Sailors', 'sailors', $3)`,
    [tagId, clubId, now()],
  );
  const removed = new Set<Id>();

  function begin(decisions: Decisions): Command {
    const named = Array.from({ length: 1 + decisions.choose(6) }, () => {
      const id = decisions.pick(students);
      return decisions.choose(3) === 0
        ? { email: addressOf(id) }
        : { student_id: decisions.choose(8) === 7 ? newId() : id };
    });
    const kind = decisions.pick(['award', 'tag', 'untag'] as const);
    return {
      label: `${kind} ${named.length} students`,
      async run() {
        const request = { clubId, students: named };
        if (kind === 'award') await beginAwarding({ db: sim.db }, { ...request, points: 10 }, now());
        else if (kind === 'tag') await beginTagging({ db: sim.db }, { ...request, tagId }, now());
        else await beginUntagging({ db: sim.db }, { ...request, tagId }, now());
      },
    };
  }

  const cancel = (lot: number): Command => ({
    label: 'cancel a bulk job',
    async run() {
      const jobs = await sim.postgres.ask<{ id: Id }>('SELECT id FROM bulk_jobs ORDER BY id');
      const job = jobs[lot % Math.max(1, jobs.length)];
      if (job) await cancelJob({ db: sim.db }, clubId, job.id, now());
    },
  });

  const remove = (studentId: Id): Command => ({
    label: `remove ${studentId}`,
    async run() {
      await removeStudent({ db: sim.db, vault }, clubId, studentId, now());
      removed.add(studentId);
    },
  });

  return {
    types: ['bulkJob'],
    horizonMs: 4 * 3_600_000,
    depsFor: (db) => ({ db, vault, failpoint: () => Promise.resolve() }),
    command(decisions) {
      const which = decisions.choose(12);
      if (which < 9) return begin(decisions);
      return which === 9 ? cancel(decisions.choose(8)) : remove(decisions.pick(students));
    },
    calm: () => [],
    async atEnd() {
      await expectEnded();
      await expectReports();
      await expectPoints();
      for (const id of removed) await expectErased(id);
    },
  };

  async function expectEnded(): Promise<void> {
    const open = await sim.postgres.ask<{ id: Id; status: string }>(
      `SELECT id, status FROM bulk_jobs WHERE looks_at IS NOT NULL OR completed_at IS NULL
        UNION ALL SELECT job_id, outcome FROM bulk_job_rows WHERE outcome = 'pending'`,
    );
    mustHold(open.length === 0, 'all work ends', () => `bulk job ${open[0]?.id} is ${open[0]?.status}`);
  }

  async function expectReports(): Promise<void> {
    const wrong = await sim.postgres.ask<{ id: Id }>(
      `SELECT id FROM bulk_jobs job
        WHERE (rows_total, applied_count, unchanged_count, failed_count) <>
              (SELECT count(*), count(*) FILTER (WHERE outcome = 'applied'), count(*) FILTER (WHERE outcome = 'unchanged'),
                      count(*) FILTER (WHERE outcome = 'failed') FROM bulk_job_rows WHERE job_id = job.id)`,
    );
    mustHold(wrong.length === 0, 'sums are equal', () => `the counts of bulk job ${wrong[0]?.id} are not its rows`);
  }

  /** Each applied row of an award is one award, with the job as its cause. Awards of removed students may be gone. */
  async function expectPoints(): Promise<void> {
    const wrong = await sim.postgres.ask<{ id: Id }>(
      `SELECT student.id FROM students student
        WHERE removed_at IS NULL AND (points <> 10 * (SELECT count(*) FROM point_awards WHERE student_id = student.id)
           OR (SELECT count(*) FROM point_awards WHERE student_id = student.id) <>
              (SELECT count(*) FROM bulk_job_rows report JOIN bulk_jobs job ON job.id = report.job_id
                WHERE report.student_id = student.id AND report.outcome = 'applied' AND job.action->>'kind' = 'award_points'))`,
    );
    mustHold(wrong.length === 0, 'no effect happens twice', () => `the points of ${wrong[0]?.id} differ from the jobs`);
  }

  async function expectErased(id: Id): Promise<void> {
    const rows = await sim.postgres.ask('SELECT FROM bulk_job_rows WHERE student_id = $1', [id]);
    mustHold(rows.length === 0, 'no data of removed students remain', () => `a report still contains ${id}`);
    await searchForTraces(sim, id);
  }
}
