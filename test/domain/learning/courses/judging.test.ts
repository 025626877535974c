/** Tests the run that completes a course for students who send no request (DEC-153). */
import { expect } from 'chai';
import {
  restoreAccess,
  revokeAccess,
  changeEnd,
  grantByHand,
} from '../../../../domain/access/enrollments/enrollments.ts';
import { grantToMany } from '../../../../domain/access/enrollments/many-grants.ts';
import { completeLesson } from '../../../../domain/learning/courses/completion.ts';
import { judging, type CourseCompletionStep } from '../../../../domain/learning/courses/judging.ts';
import { updateLesson } from '../../../../domain/learning/courses/lessons.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import { completionsOf, factTypes } from '../../../toolkit/assert/facts.ts';
import { wakesBy } from '../../../toolkit/assert/wakes.ts';
import { buildLearner, buildOpenCourse, type Learner, type OpenCourse } from '../../../toolkit/builders/access.ts';
import { buildAssignment } from '../../../toolkit/builders/assignments.ts';
import { buildClub, type TestClub } from '../../../toolkit/builders/clubs.ts';
import { buildLesson } from '../../../toolkit/builders/courses.ts';
import { classroomOf } from '../../../toolkit/drive/classroom.ts';
import { callsOf } from '../../../toolkit/drive/club-calls.ts';
import { judge, judgeOnce } from '../../../toolkit/drive/completions.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../../../toolkit/drive/races.ts';
import { databaseOf } from '../../../toolkit/fakes/databases.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';

const dayMs = 86_400_000;
const judged: CourseCompletionStep = { done: true, outcome: 'judged' };

let club: TestClub;
let course: OpenCourse;
let learner: Learner;
let write: ReturnType<typeof callsOf>;

const lessonId = (index: number): Id => course.lessons[index]?.id ?? '';
const publicIdOf = (index: number): string => course.lessons[index]?.publicId ?? '';
const lessonFact = (index: number) => `lesson.completed ${lessonId(index)}`;
const courseFact = () => `course.completed ${course.id}`;
const run = () => `course-completion/${course.id}`;
const publish = (index: number, published: boolean) => write('PATCH', `/lessons/${lessonId(index)}`, { published });

/** The student has completed the first of two lessons. The course has a certificate. */
async function start(): Promise<void> {
  club = await buildClub();
  write = callsOf(club);
  course = await buildOpenCourse(club.id, { lessons: 2, certificateOnCompletion: true });
  learner = await buildLearner(course);
  expect((await classroomOf(course, learner).complete(publicIdOf(0))).status).to.equal(200);
}

async function certificates(studentId = learner.id): Promise<number> {
  const source = await testDatabase();
  const [row] = await source.query<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM certificates WHERE student_id = $1`,
    [studentId],
  );
  return row?.count ?? -1;
}

async function looks(): Promise<number> {
  const source = await testDatabase();
  return (await source.query<unknown[]>(`SELECT FROM course_completion_looks WHERE course_id = $1`, [course.id]))
    .length;
}

async function expectCompleted(completed: boolean): Promise<void> {
  expect(await completionsOf(learner.id)).to.deep.equal([lessonFact(0), ...(completed ? [courseFact()] : [])]);
  expect(await certificates()).to.equal(completed ? 1 : 0);
}

describe('the withdrawal of a student’s last open lesson', () => {
  const takings: Readonly<Record<string, () => Promise<unknown>>> = {
    unpublished: () => publish(1, false),
    removed: () => write('DELETE', `/lessons/${lessonId(1)}`),
    'unpublished while the course is a draft': async () => {
      await write('PATCH', `/courses/${course.id}`, { status: 'draft' });
      expect(await wakesBy(club.id, () => publish(1, false))).to.deep.equal([]);
      await write('PATCH', `/courses/${course.id}`, { status: 'published' });
    },
    'removed while the course is archived': async () => {
      await write('PATCH', `/courses/${course.id}`, { status: 'archived' });
      await write('DELETE', `/lessons/${lessonId(1)}`);
      await write('PATCH', `/courses/${course.id}`, { status: 'published' });
    },
  };
  for (const [how, take] of Object.entries(takings)) {
    it(`completes the course once and issues the certificate if the lesson is ${how}`, async () => {
      await start();
      expect(await wakesBy(club.id, take)).to.include(run());
      await expectCompleted(false);
      expect(await judge(course.id)).to.deep.equal(judged);
      expect(await judge(course.id)).to.deep.equal(judged);
      await expectCompleted(true);
      expect(await factTypes(club.id)).to.deep.equal(['lesson.completed', 'course.completed', 'certificate.issued']);
      await classroomOf(course, learner).complete(publicIdOf(0));
      await expectCompleted(true);
    });
  }

  it('records facts with bulk priority', async () => {
    await start();
    await publish(1, false);
    await judge(course.id);
    const source = await testDatabase();
    const rows = await source.query<{ type: string; priority: number }[]>(
      `SELECT type, priority FROM facts WHERE club_id = $1 ORDER BY seq`,
      [club.id],
    );
    expect(rows.map(({ type, priority }) => [type, priority])).to.deep.equal([
      ['lesson.completed', 1],
      ['course.completed', 2],
      ['certificate.issued', 2],
    ]);
  });

  it('completes no course for a student with another open lesson', async () => {
    await start();
    const lacking = await buildLearner(course);
    const undone = await buildLearner(course);
    const finisher = await buildLearner(course);
    const third = await buildLesson(course);
    await classroomOf(course, lacking).complete(third.publicId);
    for (const publicId of [publicIdOf(0), third.publicId]) await classroomOf(course, undone).complete(publicId);
    await classroomOf(course, undone).undo(publicIdOf(0));
    for (const publicId of [publicIdOf(0), publicIdOf(1), third.publicId])
      await classroomOf(course, finisher).complete(publicId);
    await publish(1, false);
    await judge(course.id);
    const coursesOf = async (id: Id) => (await completionsOf(id)).filter((fact) => fact === courseFact()).length;
    expect([await coursesOf(learner.id), await coursesOf(lacking.id), await coursesOf(undone.id)]).to.deep.equal([
      0, 0, 0,
    ]);
    expect([await coursesOf(finisher.id), await certificates(finisher.id)]).to.deep.equal([1, 1]);
  });

  it('begins no run if the course has no published lesson', async () => {
    await start();
    await publish(1, false);
    expect(await wakesBy(club.id, () => publish(0, false))).to.deep.equal([]);
    expect(await judge(course.id)).to.deep.equal(judged);
    await expectCompleted(false);
  });

  it('does not begin a run if only an unpublished lesson, a title or the order changes', async () => {
    await start();
    const hidden = await buildLesson(course, { published: false });
    const woken = await wakesBy(club.id, async () => {
      await write('PATCH', `/lessons/${hidden.id}`, { published: false, title: 'Renamed' });
      await write('DELETE', `/lessons/${hidden.id}`);
      await write('PATCH', `/courses/${course.id}`, { title: 'Renamed', status: 'published' });
    });
    expect(woken.filter((id) => id === run())).to.deep.equal([]);
    expect(await looks()).to.equal(0);
  });

  it('does not begin a run for a course in which no lesson was completed', async () => {
    club = await buildClub();
    write = callsOf(club);
    course = await buildOpenCourse(club.id, { lessons: 2 });
    await buildLearner(course);
    await publish(1, false);
    expect(await looks()).to.equal(0);
  });

  it('completes no lesson and no course if an assignment is removed', async () => {
    await start();
    const { id } = await buildAssignment({ clubId: club.id, id: lessonId(1) }, { required: true });
    expect((await classroomOf(course, learner).complete(publicIdOf(1))).status).to.equal(409);
    await write('DELETE', `/assignments/${id}`);
    await judge(course.id);
    await expectCompleted(false);
    expect((await classroomOf(course, learner).complete(publicIdOf(1))).body.data.course).to.have.property(
      'completed_at',
    );
  });
});

describe('changes during the run', () => {
  it('prevent the completion if a lesson is published again before the run reaches the student', async () => {
    await start();
    await publish(1, false);
    let isAgain = false;
    await judgeOnce(course.id, Date.now(), async (name) => {
      if (name !== 'course_page_read' || isAgain) return;
      isAgain = true;
      await publish(1, true);
    });
    expect(isAgain).to.equal(true);
    await judge(course.id);
    await expectCompleted(false);
  });

  it('make the run wait for a lesson that is being published again', async () => {
    await start();
    await publish(1, false);
    let running: Promise<CourseCompletionStep> | undefined;
    await withOpenTransaction(
      (tx) => updateLesson({ db: databaseOf(tx) }, club.id, lessonId(1), { published: true }, new Date()),
      async () => {
        running = judge(course.id);
        await untilWaitingForLocks(1);
      },
    );
    expect(await running).to.deep.equal(judged);
    await expectCompleted(false);
  });

  for (const [what, take] of [
    [
      'an access that is revoked',
      () =>
        withDb((db) => db.transaction((tx) => revokeAccess(tx, club.id, learner.enrollmentId, 'refund', new Date()))),
    ],
    [
      'an access that ends',
      async () =>
        void (await (
          await testDatabase()
        ).query(`UPDATE enrollments SET ends_at = now() - interval '1 second' WHERE id = $1`, [learner.enrollmentId])),
    ],
    ['a student who is removed', async () => removeStudent(await testDeps(), club.id, learner.id, new Date())],
    ['a course that is withdrawn', () => write('PATCH', `/courses/${course.id}`, { status: 'draft' })],
  ] as const)
    it(`prevent the completion of the course: ${what}`, async () => {
      await start();
      await publish(1, false);
      await judgeOnce(course.id, Date.now(), async (name) => void (name === 'course_page_read' && (await take())));
      await judge(course.id);
      expect((await completionsOf(learner.id)).filter((fact) => fact === courseFact())).to.deep.equal([]);
      expect(await looks()).to.equal(0);
    });

  it('record one `course.completed` if the student completes a lesson', async () => {
    for (let round = 0; round < 8; round++) {
      await start();
      await publish(1, false);
      await Promise.all([
        judge(course.id),
        judge(course.id),
        classroomOf(course, learner).complete(publicIdOf(0)),
        classroomOf(course, learner).complete(publicIdOf(0)),
      ]);
      await expectCompleted(true);
    }
  });

  it('make a withdrawal wait for a completion', async () => {
    await start();
    const { publicUrl } = await testDeps();
    let withdrawn: Promise<unknown> | undefined;
    await withOpenTransaction(
      (tx) =>
        completeLesson(
          { db: databaseOf(tx), publicUrl },
          { clubId: club.id, id: learner.id },
          publicIdOf(1),
          new Date(),
        ),
      async () => {
        withdrawn = publish(1, false);
        await untilWaitingForLocks(1);
      },
    );
    await withdrawn;
    await judge(course.id);
    expect(await completionsOf(learner.id)).to.deep.equal([lessonFact(0), lessonFact(1), courseFact()]);
    expect(await certificates()).to.equal(1);
  });

  it('start a new pass of the run', async () => {
    await start();
    await publish(1, false);
    let isAnew = false;
    const step = await judgeOnce(course.id, Date.now(), async (name) => {
      if (name !== 'course_student_judged' || isAnew) return;
      isAnew = true;
      await publish(1, true);
      await publish(1, false);
    });
    expect(step).to.deep.equal({ done: false });
    expect(await looks()).to.equal(1);
    expect(await judge(course.id)).to.deep.equal(judged);
    await expectCompleted(true);
  });
});

const withDb = async <T>(act: (db: Awaited<ReturnType<typeof testDeps>>['db']) => Promise<T>): Promise<T> =>
  act((await testDeps()).db);

describe('an access that is restored or extended', () => {
  /** The student had no access at the time of the withdrawal. */
  async function startWithout(): Promise<void> {
    await start();
    await withDb((db) =>
      db.transaction((tx) => revokeAccess(tx, club.id, learner.enrollmentId, 'revocation', new Date())),
    );
    await publish(1, false);
    await judge(course.id);
    await expectCompleted(false);
  }
  const inTransaction = <T>(act: Parameters<Awaited<ReturnType<typeof testDeps>>['db']['transaction']>[0]) =>
    withDb((db) => db.transaction(act)) as Promise<T>;

  const returns: Readonly<Record<string, () => Promise<unknown>>> = {
    restored: () => inTransaction((tx) => restoreAccess(tx, club.id, learner.enrollmentId, new Date())),
    'given anew': () =>
      inTransaction((tx) =>
        grantByHand(tx, club.id, { student_id: learner.id, delivery_id: course.deliveryId }, new Date()),
      ),
    'given to many': () =>
      inTransaction((tx) =>
        grantToMany(
          tx,
          { clubId: club.id, studentIds: [learner.id], deliveryIds: [course.deliveryId], source: 'import' },
          new Date(),
        ),
      ),
  };
  for (const [how, give] of Object.entries(returns))
    it(`completes the course if the student has completed all lessons (access ${how})`, async () => {
      await startWithout();
      expect(await wakesBy(club.id, give)).to.include(run());
      expect(await judge(course.id)).to.deep.equal(judged);
      await expectCompleted(true);
    });

  it('completes the course if access that has already ended is extended', async () => {
    await start();
    const source = await testDatabase();
    await source.query(`UPDATE enrollments SET ends_at = now() - interval '1 second' WHERE id = $1`, [
      learner.enrollmentId,
    ]);
    await publish(1, false);
    await judge(course.id);
    await expectCompleted(false);
    await inTransaction((tx) => changeEnd(tx, club.id, learner.enrollmentId, new Date(Date.now() + dayMs), new Date()));
    await judge(course.id);
    await expectCompleted(true);
  });

  it('makes one run wait until the later access of each student begins', async () => {
    await startWithout();
    const [tomorrow, later] = [1, 2].map((days) => new Date(Math.floor(Date.now() / 1_000) * 1_000 + days * dayMs));
    const other = await buildLearner(course);
    await classroomOf(course, other).complete(publicIdOf(0));
    const second = await buildLearner(course);
    const give = (studentId: Id, startsAt: Date | undefined) =>
      inTransaction((tx) =>
        grantByHand(
          tx,
          club.id,
          { student_id: studentId, delivery_id: course.deliveryId, starts_at: startsAt?.toISOString() ?? '' },
          new Date(),
        ),
      );
    await give(learner.id, later);
    expect(await judge(course.id)).to.deep.equal({ done: false, at: later?.getTime() });
    // The second student gets access from another source back earlier.
    const source = await testDatabase();
    await source.query(
      `INSERT INTO lesson_progress (student_id, lesson_id, club_id, first_completed_at, completed, updated_at)
      VALUES ($1, $2, $3, now(), true, now())`,
      [second.id, lessonId(0), club.id],
    );
    await inTransaction((tx) => revokeAccess(tx, club.id, second.enrollmentId, 'revocation', new Date()));
    await give(second.id, tomorrow);
    expect(await judge(course.id)).to.deep.equal({ done: false, at: tomorrow?.getTime() });
    expect(await judge(course.id, tomorrow?.getTime())).to.deep.equal({ done: false, at: later?.getTime() });
    expect((await completionsOf(second.id)).at(-1)).to.equal(courseFact());
    await expectCompleted(false);
    expect(await judge(course.id, later?.getTime())).to.deep.equal(judged);
    await expectCompleted(true);
  });

  it('begins no run if the course is completed or has an open lesson', async () => {
    await start();
    const change = () =>
      inTransaction((tx) => changeEnd(tx, club.id, learner.enrollmentId, new Date(Date.now() + dayMs), new Date()));
    expect((await wakesBy(club.id, change)).filter((id) => id === run())).to.deep.equal([]);
    await classroomOf(course, learner).complete(publicIdOf(1));
    const again = () => inTransaction((tx) => changeEnd(tx, club.id, learner.enrollmentId, null, new Date()));
    expect((await wakesBy(club.id, again)).filter((id) => id === run())).to.deep.equal([]);
  });

  it('makes the run complete the course later if access is restored during a step', async () => {
    await start();
    await withDb((db) =>
      db.transaction((tx) => revokeAccess(tx, club.id, learner.enrollmentId, 'revocation', new Date())),
    );
    let running: Promise<CourseCompletionStep> | undefined;
    // The restoration reads the lessons before the withdrawal commits, so it does not request the run.
    await withOpenTransaction(
      (tx) => restoreAccess(tx, club.id, learner.enrollmentId, new Date()),
      async () => {
        await publish(1, false);
        running = judge(course.id);
        await untilWaitingForLocks(1);
      },
    );
    expect(await running).to.deep.equal(judged);
    await expectCompleted(true);
  });
});

describe('a course of many students', function () {
  this.timeout(60_000);

  it('is evaluated in steps of limited size', async () => {
    await start();
    const many = 2 * judging.lookedAt + 3;
    const source = await testDatabase();
    await source.query(
      `WITH added AS (
         INSERT INTO students (id, club_id, name, email, opened_by, created_at)
         SELECT gen_random_uuid(), $1, 'One of many', 'many' || number || '@example.com', 'club', now() FROM generate_series(1, $5::int) AS number
         RETURNING id, email),
       enrolled AS (
         INSERT INTO enrollments (id, club_id, student_id, delivery_id, source, starts_at, created_at, updated_at)
         SELECT gen_random_uuid(), $1, id, $2, 'grant', now() - interval '1 minute', now(), now() FROM added)
       INSERT INTO lesson_progress (student_id, lesson_id, club_id, first_completed_at, completed, updated_at)
       SELECT added.id, lesson.id, $1, now(), true, now() FROM added
         JOIN lessons lesson ON lesson.id = $3 OR (lesson.id = $4 AND substring(added.email from '[0-9]+')::int % 5 = 0)`,
      [club.id, course.deliveryId, lessonId(0), lessonId(1), many],
    );
    const third = await buildLesson(course);
    const whole = await source.query<{ id: Id }[]>(
      `SELECT student_id AS id FROM lesson_progress WHERE lesson_id = $1 ORDER BY 1`,
      [lessonId(1)],
    );
    expect(whole.length).to.be.greaterThan(2 * judging.judged);
    const { took } = await timed(() => write('DELETE', `/lessons/${third.id}`));
    expect(took).to.be.lessThan(2_000);
    let steps = 0;
    for (;;) {
      const before = await completed();
      const step = await judgeOnce(course.id);
      steps++;
      expect((await completed()) - before).to.be.at.most(judging.judged);
      if (step.done) break;
    }
    expect(await completed()).to.equal(whole.length);
    expect(steps).to.be.within(3, 3 + Math.ceil(whole.length / judging.judged));
    const counts = await source.query<{ type: string; count: number }[]>(
      `SELECT type, count(*)::int AS count FROM facts WHERE club_id = $1 AND type <> 'lesson.completed' GROUP BY 1 ORDER BY 1`,
      [club.id],
    );
    expect(counts).to.deep.equal([
      { type: 'certificate.issued', count: whole.length },
      { type: 'course.completed', count: whole.length },
    ]);
  });

  async function completed(): Promise<number> {
    const source = await testDatabase();
    const [row] = await source.query<{ count: number }[]>(
      `SELECT count(*)::int AS count FROM course_completions WHERE course_id = $1`,
      [course.id],
    );
    return row?.count ?? -1;
  }

  async function timed(act: () => Promise<unknown>): Promise<{ took: number }> {
    const startedAt = performance.now();
    await act();
    return { took: performance.now() - startedAt };
  }
});
