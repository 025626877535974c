/** Tests completions that run at the same time as completions, undos and withdrawals. */
import { expect } from 'chai';
import { revokeAccess } from '../../../../domain/access/enrollments/enrollments.ts';
import type { Transaction } from '../../../../platform/infra/postgres/database.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { completeLesson, undoCompletion } from '../../../../domain/learning/courses/completion.ts';
import { updateCourse } from '../../../../domain/learning/courses/courses.ts';
import { createLesson, removeLesson, updateLesson } from '../../../../domain/learning/courses/lessons.ts';
import { completionsOf } from '../../../toolkit/assert/facts.ts';
import { expectError, type Answer } from '../../../toolkit/drive/api.ts';
import { factsOf, rowCounts, testDeps, depsOn } from '../../../toolkit/stack/database.ts';
import { buildLearner, buildOpenCourse, type Learner, type OpenCourse } from '../../../toolkit/builders/access.ts';
import { buildClub, type TestClub } from '../../../toolkit/builders/clubs.ts';
import { classroomOf, revokeEnrollment } from '../../../toolkit/drive/classroom.ts';
import { callsOf } from '../../../toolkit/drive/club-calls.ts';
import { withOpenTransaction, untilWaitingForLocks } from '../../../toolkit/drive/races.ts';
import { databaseOf } from '../../../toolkit/fakes/databases.ts';

let club: TestClub;
let course: OpenCourse;
let learner: Learner;
let classroom: ReturnType<typeof classroomOf>;

async function start(lessons: number, options: { certificateOnCompletion?: boolean } = {}): Promise<string[]> {
  club = await buildClub();
  course = await buildOpenCourse(club.id, { lessons, ...options });
  learner = await buildLearner(course);
  classroom = classroomOf(course, learner);
  return course.lessons.map(({ publicId }) => publicId);
}
const reader = () => ({ clubId: club.id, id: learner.id });
const lessonFact = (index: number) => `lesson.completed ${course.lessons[index]?.id}`;
const courseFact = () => `course.completed ${course.id}`;
const times = <T>(count: number, begin: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, begin));

/** Calls `begin` while the transaction of `first` is open. `begin` must wait for its commit. */
async function begunDuring<T>(first: (tx: Transaction) => Promise<unknown>, begin: () => Promise<T>): Promise<T> {
  let second: Promise<T> | undefined;
  await withOpenTransaction(first, async () => {
    second = begin();
    await untilWaitingForLocks(1);
  });
  if (second === undefined) throw new Error('The second act was not started');
  return second;
}

describe('concurrent completions', () => {
  it('record one fact for 20 completions of one lesson', async () => {
    const [first = ''] = await start(2);
    const answers = await times(20, () => classroom.complete(first));
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.data.completed_at)).size).to.equal(1);
    expect(await completionsOf(learner.id)).to.deep.equal([lessonFact(0)]);
  });

  it('record one course.completed and issue one certificate for the last two lessons', async () => {
    for (let round = 0; round < 8; round++) {
      const [first = '', second = ''] = await start(2, { certificateOnCompletion: true });
      await Promise.all([classroom.complete(first), classroom.complete(second)]);
      const facts = await completionsOf(learner.id);
      expect(facts.slice(0, 2), `round ${round}`).to.have.members([lessonFact(0), lessonFact(1)]);
      expect(facts.slice(2), `round ${round}`).to.deep.equal([courseFact()]);
      const issued = (await factsOf(club.id)).filter(({ type }) => type === 'certificate.issued');
      expect(issued, `round ${round}`).to.have.length(1);
    }
  });

  it('record one course.completed for 20 completions of the last lesson', async () => {
    const [only = ''] = await start(1);
    await times(20, () => classroom.complete(only));
    expect(await completionsOf(learner.id)).to.deep.equal([lessonFact(0), courseFact()]);
  });

  it('record the fact of a lesson once despite concurrent undos', async () => {
    const [only = ''] = await start(1);
    await Promise.all([times(10, () => classroom.complete(only)), times(10, () => classroom.undo(only))]);
    expect(await completionsOf(learner.id)).to.deep.equal([lessonFact(0), courseFact()]);
    await classroom.undo(only);
    expect((await classroom.lesson(only)).body.data.completed).to.equal(false);
  });

  for (const undoneFirst of [true, false]) {
    it(`${undoneFirst ? 'do not ' : ''}complete the course if the student undoes another lesson ${undoneFirst ? 'before' : 'after'} the completion`, async () => {
      const { publicUrl } = await testDeps();
      const [first = '', second = ''] = await start(2);
      await classroom.complete(first);
      const inOpen = (tx: Transaction) =>
        undoneFirst
          ? undoCompletion({ db: databaseOf(tx) }, reader(), first, new Date())
          : completeLesson({ db: databaseOf(tx), publicUrl }, reader(), second, new Date());
      await begunDuring(inOpen, () => (undoneFirst ? classroom.complete(second) : classroom.undo(first)));
      expect(await completionsOf(learner.id)).to.deep.equal([
        lessonFact(0),
        lessonFact(1),
        ...(undoneFirst ? [] : [courseFact()]),
      ]);
    });
  }
});

describe('a completion of a lesson during its withdrawal', () => {
  const takings: Readonly<Record<string, (tx: Transaction) => Promise<unknown>>> = {
    'the lesson is unpublished': (tx) =>
      updateLesson({ db: databaseOf(tx) }, club.id, course.lessons[0]?.id ?? '', { published: false }, new Date()),
    'the lesson is removed': (tx) =>
      removeLesson({ db: databaseOf(tx) }, club.id, course.lessons[0]?.id ?? '', new Date()),
    'the course is unpublished': (tx) =>
      updateCourse({ db: databaseOf(tx) }, club.id, course.id, { status: 'draft' }, new Date()),
    'access is revoked': (tx) => revokeAccess(tx, club.id, learner.enrollmentId, 'revocation', new Date()),
    'the student is removed': (tx) => removeStudent(depsOn(databaseOf(tx)), club.id, learner.id, new Date()),
  };

  for (const [what, take] of Object.entries(takings)) {
    it(`returns 404 and records nothing if ${what} before the completion`, async () => {
      const [only = ''] = await start(1);
      let before: Record<string, number> = {};
      const answer = await begunDuring(
        async (tx) => {
          await take(tx);
          before = await tablesOfLearning();
        },
        () => classroom.complete(only),
      );
      expectError(answer, 'not_found');
      expect(await tablesOfLearning()).to.deep.equal(before);
      expect(await completionsOf(learner.id)).to.deep.equal([]);
    });
  }

  const tablesOfLearning = async () => {
    const { lesson_progress: progress = -1, course_completions: completions = -1 } = await rowCounts();
    return { progress, completions };
  };

  const later: Readonly<Record<string, () => Promise<Answer>>> = {
    'the unpublishing of the lesson': () =>
      callsOf(club)('PATCH', `/lessons/${course.lessons[0]?.id}`, { published: false }),
    'the removal of the lesson': () => callsOf(club)('DELETE', `/lessons/${course.lessons[0]?.id}`),
    'the unpublishing of the course': () => callsOf(club)('PATCH', `/courses/${course.id}`, { status: 'draft' }),
    'the removal of the student': () => callsOf(club)('DELETE', `/students/${learner.id}`),
  };

  for (const [what, begin] of Object.entries(later)) {
    it(`makes ${what} wait, and then both changes are stored`, async () => {
      const { publicUrl } = await testDeps();
      const [only = ''] = await start(1);
      const answer = await begunDuring(
        (tx) => completeLesson({ db: databaseOf(tx), publicUrl }, reader(), only, new Date()),
        begin,
      );
      expect(answer.status).to.be.oneOf([200, 204]);
      expect(await completionsOf(learner.id)).to.deep.equal([lessonFact(0), courseFact()]);
    });
  }

  it('makes the revocation of access wait, and then both changes are stored', async () => {
    const { publicUrl } = await testDeps();
    const [only = ''] = await start(1);
    await begunDuring(
      (tx) => completeLesson({ db: databaseOf(tx), publicUrl }, reader(), only, new Date()),
      () => revokeEnrollment(course, learner),
    );
    expect(await completionsOf(learner.id)).to.deep.equal([lessonFact(0), courseFact()]);
    expectError(await classroom.lesson(only), 'not_found');
  });

  it('does not complete the course if an administrator publishes another lesson first', async () => {
    const [only = ''] = await start(1);
    const further = { title: 'Further', published: true };
    const { body } = await begunDuring(
      (tx) => createLesson({ db: databaseOf(tx) }, club.id, course.moduleId, further, new Date()),
      () => classroom.complete(only),
    );
    expect(body.data.course).to.include({ lesson_count: 2, completed_lesson_count: 1 });
    expect(await completionsOf(learner.id)).to.deep.equal([lessonFact(0)]);
  });

  it('writes facts only if the answer is 200, while the course is archived (20 rounds)', async () => {
    await start(1);
    for (let round = 0; round < 20; round++) {
      course = await buildOpenCourse(club.id);
      learner = await buildLearner(course);
      const classroomNow = classroomOf(course, learner);
      const lesson = course.lessons[0]?.publicId ?? '';
      const [completed] = await Promise.all([
        classroomNow.complete(lesson),
        callsOf(club)('PATCH', `/courses/${course.id}`, { status: 'archived' }),
      ]);
      const facts = completed.status === 200 ? [lessonFact(0), courseFact()] : [];
      expect(completed.status, `round ${round}`).to.be.oneOf([200, 404]);
      expect(await completionsOf(learner.id), `round ${round}`).to.deep.equal(facts);
    }
  });
});
