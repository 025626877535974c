/** Learning progress and its rewards (EVT-14 to EVT-19). */
import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { tag, completion, type Cause } from './cause.ts';

export const learning: readonly Cause[] = [
  {
    cause: 'a lesson that is completed, undone and completed again',
    prepare: async ({ as, course, enrolled }) => {
      const { student } = await enrolled();
      return async () => {
        await as(student, 'PUT', completion(course, 0));
        await as(student, 'DELETE', completion(course, 0));
        await as(student, 'PUT', completion(course, 0));
      };
    },
    raises: ['lesson.completed'],
    looks: (of) => expect(of('lesson.completed').lesson.title).to.equal('Lesson 1'),
  },
  {
    cause: 'the last lesson of a course that issues certificates',
    prepare: async ({ as, course, enrolled }) => {
      const { student } = await enrolled();
      await as(student, 'PUT', completion(course, 0));
      return () => as(student, 'PUT', completion(course, 1));
    },
    raises: ['lesson.completed', 'course.completed', 'certificate.issued'],
    looks: (of) => expect(of('certificate.issued').certificate.version).to.equal(1),
  },
  {
    cause: 'a certificate that is issued and reissued',
    prepare: async ({ admin, course, enrolled }) => {
      const { student } = await enrolled();
      return async () => {
        const { body } = await admin('POST', '/certificates', { student_id: student.id, course_id: course.id });
        await admin('POST', `/certificates/${body.data.id}/reissue`);
      };
    },
    raises: ['certificate.issued'],
  },
  {
    cause: 'a tag that is added twice',
    prepare: async (scene) => {
      const { id } = await scene.student();
      const path = `/students/${id}/tags/${await tag(scene)}`;
      return async () => {
        await scene.admin('PUT', path);
        await scene.admin('PUT', path);
      };
    },
    raises: ['student.tagged'],
  },
  {
    cause: 'a tag that is removed',
    prepare: async (scene) => {
      const { id } = await scene.student();
      const path = `/students/${id}/tags/${await tag(scene)}`;
      await scene.admin('PUT', path);
      return () => scene.admin('DELETE', path);
    },
    raises: ['student.untagged'],
  },
  {
    cause: 'an award that reaches two levels',
    prepare: async ({ admin, student }) => {
      const { id } = await student();
      await admin('POST', '/levels', { name: 'Deckhand', points: 100 });
      await admin('POST', '/levels', { name: 'Bosun', points: 500 });
      return () => admin('POST', `/students/${id}/points`, { id: newId(), points: 600 });
    },
    raises: ['student.level_reached', 'student.level_reached'],
  },
  {
    cause: 'a completed lesson whose points raise the student to a level',
    prepare: async ({ admin, as, course, enrolled }) => {
      const { student } = await enrolled();
      await admin('POST', '/levels', { name: 'Deckhand', points: 10 });
      return () => as(student, 'PUT', completion(course, 0));
    },
    raises: ['lesson.completed', 'student.level_reached'],
    looks: (of) => expect(of('student.level_reached').level).to.include({ name: 'Deckhand', points: 10 }),
  },
];
