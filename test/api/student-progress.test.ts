import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildLearner, buildOpenCourse, type OpenCourse } from '../toolkit/builders/access.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildLesson } from '../toolkit/builders/courses.ts';
import { expectError } from '../toolkit/drive/api.ts';
import { classroomOf, revokeEnrollment } from '../toolkit/drive/classroom.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { columnsHolding, testDatabase } from '../toolkit/stack/database.ts';

describe('student progress', () => {
  let club: TestClub;
  let course: OpenCourse;
  let write: ReturnType<typeof callsOf>;

  beforeEach(async () => {
    club = await buildClub();
    course = await buildOpenCourse(club.id, { lessons: 2 });
    write = callsOf(club);
  });
  const progressOf = async (id: Id, query = '') => (await write('GET', `/students/${id}/progress${query}`)).body;

  describe('GET /v1/clubs/{clubId}/students/{studentId}/progress', () => {
    it('lists courses that the student may open, or in which the student completed a lesson', async () => {
      const learner = await buildLearner(course);
      const classroom = classroomOf(course, learner);
      const row = {
        course_id: course.id,
        course_public_id: course.publicId,
        course_title: 'Knots for Beginners',
        course_status: 'published',
        has_access: true,
        lesson_count: 2,
        completed_lesson_count: 0,
      };
      expect(await progressOf(learner.id)).to.deep.equal({ data: [row], total: 1 });

      await classroom.complete(course.lessons[0]?.publicId ?? '');
      const { completed_at: completedAt } = (await classroom.complete(course.lessons[1]?.publicId ?? '')).body.data;
      await buildLesson(course);
      await buildLesson(course, { published: false });
      const completedRow = { ...row, lesson_count: 3, completed_lesson_count: 2, completed_at: completedAt };
      expect(await progressOf(learner.id)).to.deep.equal({ data: [completedRow], total: 1 });

      await revokeEnrollment(course, learner);
      await write('PATCH', `/courses/${course.id}`, { status: 'archived' });
      await buildOpenCourse(club.id); // no one's
      const draft = await buildOpenCourse(club.id, { status: 'draft', lessons: 0 });
      await buildLearner(draft, learner);
      const { data, total } = await progressOf(learner.id);
      expect(total).to.equal(2);
      expect(data[0]).to.include({ course_id: draft.id, course_status: 'draft', has_access: true, lesson_count: 0 });
      expect(data[1]).to.deep.equal({ ...completedRow, course_status: 'archived', has_access: false });
      expect(await progressOf(learner.id, '?page_size=1&page=2')).to.deep.equal({ data: [data[1]], total: 2 });
    });

    it('still lists a course after its only completion was undone', async () => {
      const learner = await buildLearner(course);
      const classroom = classroomOf(course, learner);
      await classroom.complete(course.lessons[0]?.publicId ?? '');
      await classroom.undo(course.lessons[0]?.publicId ?? '');
      await revokeEnrollment(course, learner);
      expect((await progressOf(learner.id)).data[0]).to.include({ has_access: false, completed_lesson_count: 0 });
    });

    it('returns an empty list for a student without courses', async () => {
      const student = await buildStudent(club.id);
      expect(await progressOf(student.id)).to.deep.equal({ data: [], total: 0 });
    });

    it('returns 404 for a student who is unknown, removed or of another club', async () => {
      const foreign = await buildStudent((await buildClub()).id);
      const removed = await buildStudent(club.id);
      await write('DELETE', `/students/${removed.id}`);
      await eachCase([newId(), foreign.id, removed.id], async (id) =>
        expectError(await write('GET', `/students/${id}/progress`), 'not_found'),
      );
    });
  });

  describe('the removal of a student', () => {
    it('erases the student’s comments, progress, name and e-mail from every table', async () => {
      const tag = newId().slice(-12);
      const student = await buildStudent(club.id, { name: `Removable ${tag}`, email: `learner.${tag}@example.com` });
      const [classroom, bystander] = [
        classroomOf(course, await buildLearner(course, student)),
        classroomOf(course, await buildLearner(course)),
      ];
      const text = `I am ${tag} of the bowline`;
      const [first = '', second = ''] = course.lessons.map(({ publicId }) => publicId);
      for (const one of [classroom, bystander]) for (const lesson of [first, second]) await one.complete(lesson);
      await classroom.comment(first, text);
      await bystander.comment(first, 'It holds.');
      expect(await columnsHolding(text)).to.deep.equal(['lesson_comments.body']);

      expect((await write('DELETE', `/students/${student.id}`)).status).to.equal(204);
      for (const trace of [tag, text, student.email]) expect(await columnsHolding(trace), trace).to.deep.equal([]);
      const source = await testDatabase();
      const rows = (table: string) =>
        source.query<unknown[]>(`SELECT 1 FROM ${table} WHERE student_id = $1`, [student.id]);
      for (const table of ['lesson_comments', 'lesson_progress', 'course_completions'])
        expect(await rows(table), table).to.deep.equal([]);

      const { data, total } = (await bystander.comments(first)).body;
      expect([data[0].body, total]).to.deep.equal(['It holds.', 1]);
      expect((await bystander.courses()).body.data[0])
        .to.include({ completed_lesson_count: 2 })
        .and.have.property('completed_at');
    });
  });
});
