/** Tests that every classroom operation gives the same answer for hidden and for missing records, and writes nothing. */
import { expect } from 'chai';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { completionsOf } from '../toolkit/assert/facts.ts';
import { buildLearner, buildOpenCourse, type Learner, type OpenCourse } from '../toolkit/builders/access.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildLesson } from '../toolkit/builders/courses.ts';
import { call, clock, expectError, type Answer, visible } from '../toolkit/drive/api.ts';
import { classroomOf, revokeEnrollment } from '../toolkit/drive/classroom.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { rowCounts, testDatabase } from '../toolkit/stack/database.ts';

type Classroom = ReturnType<typeof classroomOf>;

const onLessons: Readonly<Record<string, (classroom: Classroom, publicId: string) => Promise<Answer>>> = {
  'GET …/lessons/{publicId}': (classroom, publicId) => classroom.lesson(publicId),
  'PUT …/lessons/{publicId}/completion': (classroom, publicId) => classroom.complete(publicId),
  'DELETE …/lessons/{publicId}/completion': (classroom, publicId) => classroom.undo(publicId),
  'GET …/lessons/{publicId}/comments': (classroom, publicId) => classroom.comments(publicId),
  'POST …/lessons/{publicId}/comments': (classroom, publicId) => classroom.comment(publicId, 'It holds.'),
};
const onCourses: typeof onLessons = {
  'GET …/courses/{publicId}': (classroom, publicId) => classroom.course(publicId),
};

describe('404 for hidden lessons and courses', () => {
  let club: TestClub;
  let course: OpenCourse;
  let learner: Learner;
  let classroom: Classroom;

  beforeEach(async () => {
    club = await buildClub();
    course = await buildOpenCourse(club.id, { lessons: 2 });
    learner = await buildLearner(course);
    classroom = classroomOf(course, learner);
  });

  /** Asserts that all answers have status 404 and the same bytes, and that no request wrote a row. */
  async function expectAlike(before: Record<string, number>, answers: readonly Answer[]): Promise<void> {
    await eachCase(answers, (answer) => expectError(answer, 'not_found'));
    // Removes the headers of rate limits, because their values change with each call.
    expect(new Set(answers.map(visible)).size).to.equal(1);
    expect(await rowCounts()).to.deep.equal(before);
  }

  for (const [operation, act] of Object.entries(onLessons)) {
    describe(operation, () => {
      it('has the same bytes for a hidden lesson as for an unknown lesson', async () => {
        const outsider = classroomOf(course, await buildStudent(club.id));
        const foreign = await buildLesson(await buildOpenCourse((await buildClub()).id));
        const hidden = await buildLesson(course, { published: false });
        const removed = await buildLesson(course);
        await callsOf(club)('DELETE', `/lessons/${removed.id}`);
        const closed = [];
        for (const status of ['draft', 'archived'] as const) {
          const other = await buildOpenCourse(club.id, { status });
          await buildLearner(other, learner);
          closed.push(other.lessons[0]?.publicId ?? '');
        }
        const before = await rowCounts();
        const answers = [await act(outsider, course.lessons[0]?.publicId ?? '')];
        for (const publicId of ['nothing', hidden.publicId, removed.publicId, ...closed, foreign.publicId])
          answers.push(await act(classroom, publicId));
        await expectAlike(before, answers);
      });

      it('is returned for an unknown public id of up to 32 characters, and 422 for a longer one', async () => {
        await eachCase([1, 32], async (length) => expectError(await act(classroom, 'x'.repeat(length)), 'not_found'));
        expectError(await act(classroom, 'x'.repeat(33)), 'invalid_request');
      });
    });
  }

  for (const [operation, act] of Object.entries(onCourses)) {
    describe(operation, () => {
      it('has the same bytes for a hidden course as for an unknown course', async () => {
        const outsider = classroomOf(course, await buildStudent(club.id));
        const foreign = await buildOpenCourse((await buildClub()).id);
        const answers = [await act(outsider, course.publicId)];
        for (const status of ['draft', 'archived'] as const) {
          const other = await buildOpenCourse(club.id, { status });
          await buildLearner(other, learner);
          answers.push(await act(classroom, other.publicId));
        }
        const before = await rowCounts();
        for (const publicId of ['nothing', foreign.publicId]) answers.push(await act(classroom, publicId));
        await expectAlike(before, answers);
      });

      it('is returned for unknown public ids of courses up to 32 characters, but 33 characters cause 422', async () => {
        await eachCase([1, 32], async (length) => expectError(await act(classroom, 'x'.repeat(length)), 'not_found'));
        expectError(await act(classroom, 'x'.repeat(33)), 'invalid_request');
      });
    });
  }

  describe('access to the lessons of a course', () => {
    const [first, second] = [() => course.lessons[0]?.publicId ?? '', () => course.lessons[1]?.publicId ?? ''];

    it('begins with the enrollment, and ends with the enrollment or its revocation', async () => {
      const source = await testDatabase();
      const change = (set: string) =>
        source.query(`UPDATE enrollments SET ${set} WHERE id = $1`, [learner.enrollmentId]);
      await change(`ends_at = now() + interval '1 minute'`);
      expect((await classroom.lesson(first())).status).to.equal(200);
      clock.advance(61_000);
      expectError(await classroom.complete(first()), 'not_found');
      await change(`ends_at = NULL, starts_at = now() + interval '1 hour'`);
      expectError(await classroom.complete(first()), 'not_found');
      await change(`starts_at = now() - interval '1 hour'`);
      expect((await classroom.lesson(first())).status).to.equal(200);
      await revokeEnrollment(course, learner);
      expectError(await classroom.complete(first()), 'not_found');
      expect((await classroom.courses()).body).to.deep.equal({ data: [], total: 0 });
      expect(await completionsOf(learner.id)).to.deep.equal([]);
    });

    it('is closed while the course is unpublished, and returns when the course is published again', async () => {
      const write = callsOf(club);
      await classroom.complete(first());
      await write('PATCH', `/courses/${course.id}`, { status: 'draft' });
      await eachCase([first(), second()], async (publicId) =>
        expectError(await classroom.complete(publicId), 'not_found'),
      );
      expectError(await classroom.undo(first()), 'not_found');
      await write('PATCH', `/courses/${course.id}`, { status: 'published' });
      await classroom.complete(second());
      expect(await completionsOf(learner.id)).to.deep.equal([
        `lesson.completed ${course.lessons[0]?.id}`,
        `lesson.completed ${course.lessons[1]?.id}`,
        `course.completed ${course.id}`,
      ]);
    });

    it('is refused with 401 if the session belongs to an administrator', async () => {
      const { token } = club.owner;
      const path = `/v1/clubs/${club.id}/classroom/lessons/${first()}`;
      expectError(await call('GET', path, { token }), 'unauthenticated');
    });
  });
});
