/** PUT and DELETE …/classroom/lessons/{publicId}/completion (specification: Catalog, lesson.completed and course.completed). */
import { expect } from 'chai';
import { newId } from '../../domain/core/ids.ts';
import { assembleBody } from '../../domain/webhooks/bodies.ts';
import { clock, expectError, visible } from '../support/api.ts';
import { eventFaults } from '../support/contract-schemas.ts';
import { rowCounts, testDatabase } from '../support/database.ts';
import { buildClub, buildStudent, type TestClub } from '../support/factories.ts';
import {
  buildCourse,
  buildLearner,
  buildLesson,
  classroomOf,
  learningFactsOf,
  revoke,
  writerOf,
  type TestCourse,
} from '../support/learning.ts';

type Learner = Awaited<ReturnType<typeof buildLearner>>;

let club: TestClub;
let course: TestCourse;
let learner: Learner;
let classroom: ReturnType<typeof classroomOf>;
let write: ReturnType<typeof writerOf>;

async function start(lessons: number): Promise<string[]> {
  club = await buildClub();
  course = await buildCourse(club.id, { lessons });
  learner = await buildLearner(course);
  classroom = classroomOf(course, learner);
  write = writerOf(club);
  return course.lessons.map(({ publicId }) => publicId);
}
const lessonFact = (index: number) => `lesson.completed ${course.lessons[index]?.id}`;
const courseFact = () => `course.completed ${course.id}`;

describe('PUT /v1/clubs/{clubId}/classroom/lessons/{publicId}/completion', () => {
  describe('200', () => {
    it('the first completion: one lesson.completed, and the progress in the course', async () => {
      const [first = ''] = await start(2);
      const { status, body } = await classroom.complete(first);
      expect(status).to.equal(200);
      const { completed_at: completedAt } = body.data;
      expect(body.data).to.deep.equal({
        completed_at: completedAt,
        course: {
          id: course.id,
          public_id: course.publicId,
          title: 'Knots for Beginners',
          description: '',
          lesson_count: 2,
          completed_lesson_count: 1,
        },
      });
      expect(Date.parse(completedAt)).to.be.closeTo(Date.now(), 10_000);
      expect(await learningFactsOf(learner.id)).to.deep.equal([lessonFact(0)]);
    });

    it('the last lesson: lesson.completed, then course.completed, at the same time', async () => {
      const [first = '', second = ''] = await start(2);
      await classroom.complete(second);
      clock.advance(60_000);
      const { body } = await classroom.complete(first);
      expect(body.data.course).to.include({ completed_lesson_count: 2, completed_at: body.data.completed_at });
      expect(await learningFactsOf(learner.id)).to.deep.equal([lessonFact(1), lessonFact(0), courseFact()]);
      const source = await testDatabase();
      const times = await source.query<{ at: Date }[]>(
        `SELECT DISTINCT occurred_at AS at FROM facts WHERE student_id = $1 AND subject_id IN ($2, $3)`,
        [learner.id, course.lessons[0]?.id, course.id],
      );
      expect(times.map(({ at }) => at.toISOString())).to.deep.equal([body.data.completed_at]);
    });

    it('undo and redo do not repeat: the first completion stays the one that is told', async () => {
      const [only = ''] = await start(1);
      const first = (await classroom.complete(only)).body.data;
      clock.advance(60_000);
      expect((await classroom.undo(only)).status).to.equal(204);
      expect((await classroom.lesson(only)).body.data)
        .to.include({ completed: false })
        .and.not.have.any.keys('completed_at');
      expect((await classroom.course(course.publicId)).body.data).to.include({
        completed_lesson_count: 0,
        completed_at: first.completed_at,
      });
      clock.advance(60_000);
      expect((await classroom.complete(only)).body.data).to.deep.equal(first);
      expect((await classroom.lesson(only)).body.data).to.include({
        completed: true,
        completed_at: first.completed_at,
      });
      expect(await learningFactsOf(learner.id)).to.deep.equal([lessonFact(0), courseFact()]);
    });

    it('an undo before the last lesson: the course is completed once all are at the same time', async () => {
      const [first = '', second = ''] = await start(2);
      await classroom.complete(first);
      await classroom.undo(first);
      await classroom.complete(second);
      expect(await learningFactsOf(learner.id)).to.deep.equal([lessonFact(0), lessonFact(1)]);
      await classroom.complete(first);
      expect(await learningFactsOf(learner.id)).to.deep.equal([lessonFact(0), lessonFact(1), courseFact()]);
    });

    it('unpublished and removed lessons do not count', async () => {
      const [first = '', second = ''] = await start(2);
      const hidden = await buildLesson(course, 'Hidden', { published: false });
      const removed = await buildLesson(course, 'Removed');
      await write('DELETE', `/lessons/${removed.id}`);
      await classroom.complete(first);
      const { body } = await classroom.complete(second);
      expect(body.data.course).to.include({ lesson_count: 2, completed_lesson_count: 2 });
      expect(await learningFactsOf(learner.id)).to.deep.equal([lessonFact(0), lessonFact(1), courseFact()]);
      expectError(await classroom.complete(hidden.publicId), 'not_found');
    });

    it('a lesson published later takes the completion of the course neither back nor repeats it', async () => {
      const [only = ''] = await start(1);
      const { completed_at: completedAt } = (await classroom.complete(only)).body.data;
      const further = await buildLesson(course);
      expect((await classroom.course(course.publicId)).body.data).to.include({
        lesson_count: 2,
        completed_lesson_count: 1,
        completed_at: completedAt,
      });
      clock.advance(60_000);
      expect((await classroom.complete(further.publicId)).body.data.course).to.include({ completed_at: completedAt });
      expect(await learningFactsOf(learner.id)).to.deep.equal([
        lessonFact(0),
        courseFact(),
        `lesson.completed ${further.id}`,
      ]);
    });

    for (const [how, take] of [
      ['unpublished', (id: string) => write('PATCH', `/lessons/${id}`, { published: false })],
      ['removed', (id: string) => write('DELETE', `/lessons/${id}`)],
    ] as const) {
      it(`the last missing lesson is ${how}: the course is judged at the student's next completion, not before`, async () => {
        const [first = ''] = await start(2);
        await classroom.complete(first);
        await take(course.lessons[1]?.id ?? '');
        expect((await classroom.course(course.publicId)).body.data)
          .to.include({ lesson_count: 1, completed_lesson_count: 1 })
          .and.not.have.any.keys('completed_at');
        expect(await learningFactsOf(learner.id)).to.deep.equal([lessonFact(0)]);
        await classroom.complete(first);
        expect(await learningFactsOf(learner.id)).to.deep.equal([lessonFact(0), courseFact()]);
      });
    }

    it('each student for themselves, each course for itself', async () => {
      const [only = ''] = await start(1);
      const [other, elsewhere] = [await buildLearner(course), await buildCourse(club.id)];
      await buildLearner(elsewhere, learner);
      await classroom.complete(only);
      await classroomOf(course, other).complete(only);
      await classroom.complete(elsewhere.lessons[0]?.publicId ?? '');
      expect(await learningFactsOf(other.id)).to.deep.equal([lessonFact(0), courseFact()]);
      expect(await learningFactsOf(learner.id)).to.deep.equal([
        lessonFact(0),
        courseFact(),
        `lesson.completed ${elsewhere.lessons[0]?.id}`,
        `course.completed ${elsewhere.id}`,
      ]);
    });

    it('the bodies of both events are as the contract says, with the first completion', async () => {
      const [only = ''] = await start(1);
      const { completed_at: completedAt } = (await classroom.complete(only)).body.data;
      clock.advance(60_000);
      await classroom.undo(only);
      await classroom.complete(only);
      await write('PATCH', `/courses/${course.id}`, { title: 'Renamed since' });
      const student = {
        id: learner.id,
        name: 'Stella Student',
        email: learner.email,
        verified: true,
        createdAt: new Date(),
        removed: false,
      };
      const { manager } = await testDatabase();
      const about = { id: newId(), clubId: club.id, studentId: learner.id, details: null, occurredAt: new Date() };
      const courseRecord = { id: course.id, public_id: course.publicId, title: 'Renamed since' };
      const bodies = [
        [
          { ...about, type: 'lesson.completed', subjectId: course.lessons[0]?.id ?? '' },
          { lesson: { ...course.lessons.map(({ id }) => ({ id, public_id: only, title: 'Bend 1' }))[0] } },
        ],
        [{ ...about, type: 'course.completed', subjectId: course.id }, {}],
      ] as const;
      for (const [fact, own] of bodies) {
        const body: { data: { student: unknown } } = JSON.parse(await assembleBody(manager, fact, student, new Date()));
        expect(eventFaults(fact.type, body)).to.deep.equal([]);
        const { student: _, ...data } = body.data;
        expect(data).to.deep.equal({ ...own, course: courseRecord, completed_at: completedAt });
      }
    });
  });

  describe('404', () => {
    it('unknown, unpublished, removed, of an unpublished course, without access, of another club: alike, and nothing is written', async () => {
      const [published = ''] = await start(1);
      const outsider = classroomOf(course, await buildStudent(club.id));
      const foreign = await buildLesson(await buildCourse((await buildClub()).id), 'Elsewhere');
      const hidden = await buildLesson(course, 'Hidden', { published: false });
      const removed = await buildLesson(course, 'Removed');
      await write('DELETE', `/lessons/${removed.id}`);
      const drafts = [];
      for (const status of ['draft', 'archived']) {
        const other = await buildCourse(club.id);
        await buildLearner(other, learner);
        await write('PATCH', `/courses/${other.id}`, { status });
        drafts.push(other.lessons[0]?.publicId ?? '');
      }
      const before = await rowCounts();
      const answers = [
        await outsider.complete(published),
        await outsider.undo(published),
        await outsider.lesson(published),
      ];
      for (const publicId of ['nothing', hidden.publicId, removed.publicId, ...drafts, foreign.publicId])
        answers.push(
          await classroom.complete(publicId),
          await classroom.undo(publicId),
          await classroom.lesson(publicId),
        );
      for (const answer of answers) expectError(answer, 'not_found');
      expect(new Set(answers.map(visible)).size).to.equal(1);
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('access that was revoked, that has ended, that has not begun', async () => {
      const [only = ''] = await start(1);
      const source = await testDatabase();
      const change = (set: string) =>
        source.query(`UPDATE enrollments SET ${set} WHERE id = $1`, [learner.enrollmentId]);
      await change(`ends_at = now() + interval '1 minute'`);
      expect((await classroom.lesson(only)).status).to.equal(200);
      clock.advance(61_000);
      expectError(await classroom.complete(only), 'not_found');
      await change(`ends_at = NULL, starts_at = now() + interval '1 hour'`);
      expectError(await classroom.complete(only), 'not_found');
      await change(`starts_at = now() - interval '1 hour'`);
      await revoke(course, learner);
      expectError(await classroom.complete(only), 'not_found');
      expect(await learningFactsOf(learner.id)).to.deep.equal([]);
    });

    it('a course that is unpublished meanwhile: nothing is written; published again, it goes on', async () => {
      const [first = '', second = ''] = await start(2);
      await classroom.complete(first);
      await write('PATCH', `/courses/${course.id}`, { status: 'draft' });
      for (const publicId of [first, second]) expectError(await classroom.complete(publicId), 'not_found');
      expectError(await classroom.undo(first), 'not_found');
      await write('PATCH', `/courses/${course.id}`, { status: 'published' });
      await classroom.complete(second);
      expect(await learningFactsOf(learner.id)).to.deep.equal([lessonFact(0), lessonFact(1), courseFact()]);
    });
  });

  it('422: a publicId of 33 characters; 1 and 32 are well formed', async () => {
    await start(1);
    for (const length of [1, 32]) expectError(await classroom.complete('x'.repeat(length)), 'not_found');
    expectError(await classroom.complete('x'.repeat(33)), 'invalid_request');
  });
});

describe('DELETE /v1/clubs/{clubId}/classroom/lessons/{publicId}/completion', () => {
  it('204: what is not completed stays so, however often', async () => {
    const [only = ''] = await start(1);
    const before = await rowCounts();
    for (let times = 0; times < 2; times++) expect((await classroom.undo(only)).status).to.equal(204);
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('422: a publicId of 33 characters; 1 and 32 are well formed', async () => {
    await start(1);
    for (const length of [1, 32]) expectError(await classroom.undo('x'.repeat(length)), 'not_found');
    expectError(await classroom.undo('x'.repeat(33)), 'invalid_request');
  });
});
