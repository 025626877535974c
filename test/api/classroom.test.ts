import { expect } from 'chai';
import { eachCase } from '../toolkit/assert/each-case.ts';
import {
  buildEnrollment,
  buildLearner,
  buildOpenCourse,
  type Learner,
  type OpenCourse,
} from '../toolkit/builders/access.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildLesson } from '../toolkit/builders/courses.ts';
import { clock, expectError } from '../toolkit/drive/api.ts';
import { classroomOf, revokeEnrollment } from '../toolkit/drive/classroom.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';

describe('classroom', () => {
  let club: TestClub;
  let course: OpenCourse;
  let learner: Learner;
  let classroom: ReturnType<typeof classroomOf>;

  beforeEach(async () => {
    club = await buildClub();
    course = await buildOpenCourse(club.id, { lessons: 2, hours: 9 });
    learner = await buildLearner(course);
    classroom = classroomOf(course, learner);
  });
  const publicIds = () => course.lessons.map(({ publicId }) => publicId);

  describe('GET /v1/clubs/{clubId}/classroom/courses', () => {
    it('lists only the published courses that the student may open, and shows the progress in each', async () => {
      const [first = ''] = publicIds();
      const [draft, archived, revoked] = [
        await buildOpenCourse(club.id, { status: 'draft' }),
        await buildOpenCourse(club.id, { status: 'archived' }),
        await buildOpenCourse(club.id),
      ];
      for (const other of [draft, archived]) await buildLearner(other, learner);
      await revokeEnrollment(revoked, await buildLearner(revoked, learner));
      await buildOpenCourse(club.id); // no one's
      await buildLesson(course, { published: false });
      await classroom.complete(first);
      const { status, body } = await classroom.courses();
      expect(status).to.equal(200);
      expect(body).to.deep.equal({
        data: [
          {
            id: course.id,
            public_id: course.publicId,
            title: 'Knots for Beginners',
            description: '',
            hours: 9,
            lesson_count: 2,
            completed_lesson_count: 1,
          },
        ],
        total: 1,
      });
      const other = classroomOf(course, await buildStudent(club.id));
      expect((await other.courses()).body).to.deep.equal({ data: [], total: 0 });
    });

    it('lists courses newest first, and lists a course once even if the student has two enrollments', async () => {
      await buildEnrollment(club.id, {
        studentId: learner.id,
        deliveryId: course.deliveryId,
        source: 'purchase',
        originId: club.id,
      });
      await new Promise((resolve) => setTimeout(resolve, 5));
      const newer = await buildOpenCourse(club.id);
      await buildLearner(newer, learner);
      const idsOf = async (query: string) => {
        const { body } = await classroom.courses(query);
        return [body.data.map(({ id }: { id: string }) => id), body.total];
      };
      expect(await idsOf('')).to.deep.equal([[newer.id, course.id], 2]);
      expect(await idsOf('?page_size=1&page=2')).to.deep.equal([[course.id], 2]);
    });
  });

  describe('GET /v1/clubs/{clubId}/classroom/courses/{publicId}', () => {
    it('shows the published lessons in order, each with its completion, and omits empty modules', async () => {
      const [first = '', second = ''] = publicIds();
      const write = callsOf(club);
      const hidden = await buildLesson(course, { published: false });
      const last = await buildLesson(course);
      const { id: further } = (await write('POST', `/courses/${course.id}/modules`, { title: 'Hitches' })).body.data;
      const { id: empty } = (await write('POST', `/courses/${course.id}/modules`, { title: 'Splices' })).body.data;
      const [one, two] = course.lessons.map(({ id }) => id);
      const modules = [
        { id: empty, lesson_ids: [hidden.id] },
        { id: further, lesson_ids: [last.id, two] },
        { id: course.moduleId, lesson_ids: [one] },
      ];
      await write('PUT', `/courses/${course.id}/order`, { modules });
      await classroom.complete(first);
      const { status, body } = await classroom.course(course.publicId);
      expect(status).to.equal(200);
      expect(body.data).to.deep.equal({
        id: course.id,
        public_id: course.publicId,
        title: 'Knots for Beginners',
        description: '',
        hours: 9,
        lesson_count: 3,
        completed_lesson_count: 1,
        modules: [
          {
            id: further,
            title: 'Hitches',
            lessons: [
              { id: last.id, public_id: last.publicId, title: 'Lesson 100', completed: false },
              { id: two, public_id: second, title: 'Lesson 2', completed: false },
            ],
          },
          {
            id: course.moduleId,
            title: 'Module 1',
            lessons: [{ id: one, public_id: first, title: 'Lesson 1', completed: true }],
          },
        ],
      });
    });

    it('shows the lessons of a module in the order that administrators chose, not in order of creation', async () => {
      const third = await buildLesson(course);
      const [first, second] = course.lessons.map(({ id }) => id);
      const ordered = [third.id, first, second];
      const modules = [{ id: course.moduleId, lesson_ids: ordered }];
      await callsOf(club)('PUT', `/courses/${course.id}/order`, { modules });
      const [module] = (await classroom.course(course.publicId)).body.data.modules;
      expect(module.lessons.map(({ id }: { id: string }) => id)).to.deep.equal(ordered);
    });

    it('hides the completions of other students', async () => {
      for (let others = 0; others < 2; others++) {
        const other = classroomOf(course, await buildLearner(course));
        for (const publicId of publicIds()) await other.complete(publicId);
      }
      const { data: courses, total } = (await classroom.courses()).body;
      expect([courses.length, total]).to.deep.equal([1, 1]);
      expect(courses[0]).to.not.have.any.keys('completed_at');
      const { data } = (await classroom.course(course.publicId)).body;
      expect(data).to.include({ completed_lesson_count: 0 }).and.not.have.any.keys('completed_at');
      expect(data.modules[0].lessons.map(({ completed }: { completed: boolean }) => completed)).to.deep.equal([
        false,
        false,
      ]);
    });

    it('shows a course without published lessons as empty and not completed', async () => {
      const empty = await buildOpenCourse(club.id, { lessons: 0 });
      await buildLesson(empty, { published: false });
      await buildLearner(empty, learner);
      const { data } = (await classroom.course(empty.publicId)).body;
      expect(data).to.deep.include({ lesson_count: 0, completed_lesson_count: 0, modules: [] });
      expect(data).to.not.have.any.keys('completed_at');
    });

    it('finds a course and a lesson by public ids of 1 or 32 characters', async () => {
      const write = callsOf(club);
      await eachCase(['k', 'K'.repeat(32)], async (publicId) => {
        await write('PATCH', `/courses/${course.id}`, { public_id: publicId });
        await write('PATCH', `/lessons/${course.lessons[0]?.id}`, { public_id: publicId });
        expect((await classroom.course(publicId)).body.data.id).to.equal(course.id);
        expect((await classroom.lesson(publicId)).body.data.id).to.equal(course.lessons[0]?.id);
        expect((await classroom.complete(publicId)).status).to.equal(200);
        expect((await classroom.undo(publicId)).status).to.equal(204);
        expect((await classroom.comment(publicId, 'It holds.')).status).to.equal(201);
        expect((await classroom.comments(publicId)).status).to.equal(200);
      });
      expectError(await classroom.course(course.publicId), 'not_found');
    });
  });

  describe('GET /v1/clubs/{clubId}/classroom/lessons/{publicId}', () => {
    it('shows the content of the lesson, and shows completed_at while the lesson is completed', async () => {
      const [first = ''] = publicIds();
      const lesson = {
        id: course.lessons[0]?.id,
        public_id: first,
        title: 'Lesson 1',
        content: '# Lesson 1',
        points: 0,
        course: { id: course.id, public_id: course.publicId, title: 'Knots for Beginners' },
        media: [],
      };
      expect((await classroom.lesson(first)).body.data).to.deep.equal({ ...lesson, completed: false });
      const { completed_at: completedAt } = (await classroom.complete(first)).body.data;
      clock.advance(1_000);
      expect((await classroom.lesson(first)).body.data).to.deep.equal({
        ...lesson,
        completed: true,
        completed_at: completedAt,
      });
    });
  });
});
