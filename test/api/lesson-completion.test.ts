/** Tests PUT and DELETE …/classroom/lessons/{publicId}/completion (EVT-14, EVT-15). */
import { Queries } from '../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { assembleBody } from '../toolkit/drive/facts.ts';
import { clock, expectError } from '../toolkit/drive/api.ts';
import { eventFaults } from '../toolkit/assert/contract-schemas.ts';
import { completionsOf } from '../toolkit/assert/facts.ts';
import { buildLesson } from '../toolkit/builders/courses.ts';
import { factsOf, rowCounts, testDatabase } from '../toolkit/stack/database.ts';
import { buildLearner, buildOpenCourse, type Learner, type OpenCourse } from '../toolkit/builders/access.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { classroomOf } from '../toolkit/drive/classroom.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { standingCalls } from '../toolkit/drive/standing-calls.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

let club: TestClub;
let course: OpenCourse;
let learner: Learner;
let classroom: ReturnType<typeof classroomOf>;
let write: ReturnType<typeof callsOf>;

async function start(lessons: number): Promise<string[]> {
  club = await buildClub();
  course = await buildOpenCourse(club.id, { lessons });
  learner = await buildLearner(course);
  classroom = classroomOf(course, learner);
  write = callsOf(club);
  return course.lessons.map(({ publicId }) => publicId);
}
const lessonFact = (index: number) => `lesson.completed ${course.lessons[index]?.id}`;
const courseFact = () => `course.completed ${course.id}`;

describe('PUT /v1/clubs/{clubId}/classroom/lessons/{publicId}/completion', () => {
  describe('200', () => {
    it('raises lesson.completed for the first completion, and returns the progress in the course', async () => {
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
      expect(await completionsOf(learner.id)).to.deep.equal([lessonFact(0)]);
    });

    it('raises lesson.completed and then course.completed with the same time for the last lesson', async () => {
      const [first = '', second = ''] = await start(2);
      await classroom.complete(second);
      clock.advance(60_000);
      const { body } = await classroom.complete(first);
      expect(body.data.course).to.include({ completed_lesson_count: 2, completed_at: body.data.completed_at });
      expect(await completionsOf(learner.id)).to.deep.equal([lessonFact(1), lessonFact(0), courseFact()]);
      const source = await testDatabase();
      const times = await source.query<{ at: Date }[]>(
        `SELECT DISTINCT occurred_at AS at FROM facts WHERE student_id = $1 AND subject_id IN ($2, $3)`,
        [learner.id, course.lessons[0]?.id, course.id],
      );
      expect(times.map(({ at }) => at.toISOString())).to.deep.equal([body.data.completed_at]);
    });

    it('keeps the first time if the completion is repeated, and raises no fact', async () => {
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
      expect(await completionsOf(learner.id)).to.deep.equal([lessonFact(0), courseFact()]);
    });

    it('completes a course only when no lesson is open, and does not count undone completions', async () => {
      const [first = '', second = ''] = await start(2);
      await classroom.complete(first);
      await classroom.undo(first);
      await classroom.complete(second);
      expect(await completionsOf(learner.id)).to.deep.equal([lessonFact(0), lessonFact(1)]);
      await classroom.complete(first);
      expect(await completionsOf(learner.id)).to.deep.equal([lessonFact(0), lessonFact(1), courseFact()]);
    });

    it('ignores unpublished and removed lessons', async () => {
      const [first = '', second = ''] = await start(2);
      const hidden = await buildLesson(course, { published: false });
      const removed = await buildLesson(course);
      await write('DELETE', `/lessons/${removed.id}`);
      await classroom.complete(first);
      const { body } = await classroom.complete(second);
      expect(body.data.course).to.include({ lesson_count: 2, completed_lesson_count: 2 });
      expect(await completionsOf(learner.id)).to.deep.equal([lessonFact(0), lessonFact(1), courseFact()]);
      expectError(await classroom.complete(hidden.publicId), 'not_found');
    });

    it('leaves the completion of the course unchanged if a lesson is published later', async () => {
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
      expect(await completionsOf(learner.id)).to.deep.equal([
        lessonFact(0),
        courseFact(),
        `lesson.completed ${further.id}`,
      ]);
    });

    for (const [how, take] of [
      ['unpublished', (id: string) => write('PATCH', `/lessons/${id}`, { published: false })],
      ['removed', (id: string) => write('DELETE', `/lessons/${id}`)],
    ] as const) {
      it(`completes the course at the student’s next completion if the last open lesson was ${how}`, async () => {
        const [first = ''] = await start(2);
        await classroom.complete(first);
        await take(course.lessons[1]?.id ?? '');
        expect((await classroom.course(course.publicId)).body.data)
          .to.include({ lesson_count: 1, completed_lesson_count: 1 })
          .and.not.have.any.keys('completed_at');
        expect(await completionsOf(learner.id)).to.deep.equal([lessonFact(0)]);
        await classroom.complete(first);
        expect(await completionsOf(learner.id)).to.deep.equal([lessonFact(0), courseFact()]);
      });
    }

    it('issues one certificate, after course.completed, if the course issues certificates', async () => {
      const [first = '', second = ''] = await start(2);
      await write('PATCH', `/courses/${course.id}`, { certificate_on_completion: true });
      await classroom.complete(first);
      const types = async () => (await factsOf(club.id)).map(({ type }) => type);
      expect(await types()).to.deep.equal(['lesson.completed']);
      const { completed_at: completedAt } = (await classroom.complete(second)).body.data;
      await classroom.undo(second);
      await classroom.complete(second);
      const all = ['lesson.completed', 'lesson.completed', 'course.completed', 'certificate.issued'];
      expect(await types()).to.deep.equal(all);
      const source = await testDatabase();
      const [certificate] = await source.query<{ at: Date }[]>(
        `SELECT completed_at AS at FROM certificates WHERE student_id = $1 AND course_id = $2`,
        [learner.id, course.id],
      );
      expect(certificate?.at.toISOString()).to.equal(completedAt);
    });

    it('awards the lesson’s current points once, and then raises student.level_reached', async () => {
      await start(1);
      const standing = standingCalls(club);
      await standing.buildLevel('Deckhand', 15);
      const { publicId, id } = await buildLesson(course, { points: 10 });
      await write('PATCH', `/lessons/${id}`, { points: 15 });
      await classroom.complete(publicId);
      await write('PATCH', `/lessons/${id}`, { points: 40 });
      await classroom.undo(publicId);
      await classroom.complete(publicId);
      expect((await standing.standing(learner.id)).points).to.equal(15);
      const types = (await factsOf(club.id)).map(({ type }) => type);
      expect(types).to.deep.equal(['lesson.completed', 'student.level_reached']);
    });

    it('counts completions separately for each student and each course', async () => {
      const [only = ''] = await start(1);
      const [other, elsewhere] = [await buildLearner(course), await buildOpenCourse(club.id)];
      await buildLearner(elsewhere, learner);
      await classroom.complete(only);
      await classroomOf(course, other).complete(only);
      await classroom.complete(elsewhere.lessons[0]?.publicId ?? '');
      expect(await completionsOf(other.id)).to.deep.equal([lessonFact(0), courseFact()]);
      expect(await completionsOf(learner.id)).to.deep.equal([
        lessonFact(0),
        courseFact(),
        `lesson.completed ${elsewhere.lessons[0]?.id}`,
        `course.completed ${elsewhere.id}`,
      ]);
    });

    it('raises facts that match the contract, with the time of the first completion', async () => {
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
          { lesson: { ...course.lessons.map(({ id }) => ({ id, public_id: only, title: 'Lesson 1' }))[0] } },
        ],
        [{ ...about, type: 'course.completed', subjectId: course.id }, {}],
      ] as const;
      await eachCase(bodies, async ([fact, own]) => {
        const body: { data: { student: unknown } } = JSON.parse(
          await assembleBody(new Queries(manager), fact, student, new Date()),
        );
        expect(eventFaults(fact.type, body)).to.deep.equal([]);
        const { student: _, ...data } = body.data;
        expect(data).to.deep.equal({ ...own, course: courseRecord, completed_at: completedAt });
      });
    });
  });
});

describe('DELETE /v1/clubs/{clubId}/classroom/lessons/{publicId}/completion', () => {
  it('changes nothing for a lesson that is not completed', async () => {
    const [only = ''] = await start(1);
    const before = await rowCounts();
    for (let times = 0; times < 2; times++) expect((await classroom.undo(only)).status, `times ${times}`).to.equal(204);
    expect(await rowCounts()).to.deep.equal(before);
  });
});
