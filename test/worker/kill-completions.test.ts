import { expect } from 'chai';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { buildOpenCourse, type OpenCourse } from '../toolkit/builders/access.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { useTemporal, useWorkerProcesses } from '../toolkit/stack/worker.ts';

const second = 1_000;
const many = 120;

/** Three workers are killed while they complete a course for its students. A fourth finishes the job. */
describe('the completion of a course for its students after three workers were killed', function () {
  this.timeout(30 * second);
  const startWorker = useWorkerProcesses('upkeep');
  const temporal = useTemporal();
  const places = ['course_page_read', 'course_student_judged', 'course_page_recorded'] as const;
  /** The signal that ended the worker, and the completions after the kill, for each failpoint. */
  const statesAfterKill = new Map<string, { signal: NodeJS.Signals | null; completed: number }>();
  let club: TestClub;
  let course: OpenCourse;

  before('kill three workers, and start a fourth', async function () {
    this.timeout(240 * second);
    club = await buildClub();
    course = await buildOpenCourse(club.id, { lessons: 2, certificateOnCompletion: true });
    await addLearners();
    let isWithdrawn = false;
    for (const place of places) {
      // Temporal gives the step to the next worker after 10 s without a heartbeat.
      const worker = await startWorker({ FAILPOINT: place });
      if (!isWithdrawn) {
        const lesson = course.lessons[1]?.id ?? '';
        expect((await callsOf(club)('PATCH', `/lessons/${lesson}`, { published: false })).status).to.equal(200);
      }
      isWithdrawn = true;
      const { signal } = await worker.exited;
      statesAfterKill.set(place, { signal, completed: await count('course_completions') });
    }
    await startWorker();
    await until('the run', { timeoutMs: 90 * second }, async () => (await count('course_completion_looks')) === 0);
  });

  async function addLearners(): Promise<void> {
    const source = await testDatabase();
    await source.query(
      `WITH added AS (
         INSERT INTO students (id, club_id, name, email, opened_by, created_at)
         SELECT gen_random_uuid(), $1, 'One of many', 'many' || number || '@example.com', 'club', now() FROM generate_series(1, $4::int) AS number
         RETURNING id),
       enrolled AS (
         INSERT INTO enrollments (id, club_id, student_id, delivery_id, source, starts_at, created_at, updated_at)
         SELECT gen_random_uuid(), $1, id, $2, 'grant', now() - interval '1 minute', now(), now() FROM added)
       INSERT INTO lesson_progress (student_id, lesson_id, club_id, first_completed_at, completed, updated_at)
       SELECT id, $3, $1, now(), true, now() FROM added`,
      [club.id, course.deliveryId, course.lessons[0]?.id, many],
    );
  }

  async function count(table: 'course_completions' | 'course_completion_looks' | 'certificates'): Promise<number> {
    const source = await testDatabase();
    const [row] = await source.query<{ count: number }[]>(
      `SELECT count(*)::int AS count FROM ${table} WHERE course_id = $1`,
      [course.id],
    );
    return row?.count ?? -1;
  }

  it('keeps the completions that were committed before each kill', () => {
    expect(Object.fromEntries(statesAfterKill)).to.deep.equal({
      course_page_read: { signal: 'SIGKILL', completed: 0 },
      course_student_judged: { signal: 'SIGKILL', completed: 1 },
      course_page_recorded: { signal: 'SIGKILL', completed: 51 },
    });
  });

  it('completes the course once for each student', async () => {
    expect([await count('course_completions'), await count('certificates')]).to.deep.equal([many, many]);
    const source = await testDatabase();
    const facts = await source.query<{ type: string; facts: number; students: number }[]>(
      `SELECT type, count(*)::int AS facts, count(DISTINCT student_id)::int AS students FROM facts WHERE club_id = $1 GROUP BY 1 ORDER BY 1`,
      [club.id],
    );
    // The relay may already have deleted some facts. No student may have two of the remaining facts.
    for (const { facts: recorded, students } of facts) expect(recorded).to.equal(students);
  });

  it('ends its workflow run with the outcome `judged`', async () => {
    const run = temporal().workflow.getHandle(workflowIdOf('courseCompletion', course.id));
    expect(await run.result()).to.equal('judged');
  });
});
