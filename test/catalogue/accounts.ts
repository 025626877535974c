/** Creation, change and deletion of accounts, with the access that follows (EVT-1 to EVT-3). */
import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { buildAccessDelivery } from '../toolkit/builders/access.ts';
import { someone, signUp, link, tag, uploadStudents, type Cause } from './cause.ts';

export const accounts: readonly Cause[] = [
  {
    cause: 'sign-up',
    prepare:
      async ({ club }) =>
      () =>
        signUp(club.id),
    raises: ['student.created'],
    looks: (of) => expect(of('student.created').student.verified).to.equal(false),
  },
  {
    cause: 'sign-up in a club with a free delivery',
    prepare: async ({ club, course }) => {
      await buildAccessDelivery(club.id, { courseId: course.id, free: true });
      return () => signUp(club.id);
    },
    raises: ['student.created', 'access.granted'],
    looks: (of) => expect(of('access.granted').enrollment.source).to.equal('free'),
  },
  {
    cause: 'sign-up with a registration link',
    prepare: async (scene) => {
      const code = await link(scene);
      return () => signUp(scene.club.id, { registration_code: code });
    },
    raises: ['student.created', 'access.granted'],
    looks: (of) => expect(of('access.granted').enrollment.source).to.equal('registration_link'),
  },
  {
    cause: 'an invitation to a delivery',
    prepare:
      async ({ admin, deliveryId }) =>
      () =>
        admin('POST', '/students', { ...someone(), delivery_ids: [deliveryId] }),
    raises: ['student.created', 'access.granted'],
    looks: (of) => expect(of('access.granted').enrollment.source).to.equal('invite'),
  },
  {
    cause: 'an import of a known and an unknown student',
    prepare: async ({ club, deliveryId, student }) => {
      const { email } = await student();
      return () => uploadStudents(club, deliveryId, `email,name\n${email},Stella\n${newId()}@example.com,Max\n`);
    },
    raises: ['student.created', 'access.granted', 'access.granted'],
    looks: (of) => expect(of('access.granted').enrollment.source).to.equal('import'),
  },
  {
    cause: 'a correction of name and e-mail',
    prepare: async ({ admin, student }) => {
      const { id } = await student();
      return () => admin('PATCH', `/students/${id}`, someone());
    },
    raises: ['student.updated'],
  },
  {
    cause: 'the removal of a student who has access, tags and a certificate',
    prepare: async (scene) => {
      const { student } = await scene.enrolled();
      await scene.admin('PUT', `/students/${student.id}/tags/${await tag(scene)}`);
      await scene.admin('POST', '/certificates', { student_id: student.id, course_id: scene.course.id });
      return () => scene.admin('DELETE', `/students/${student.id}`);
    },
    raises: ['student.removed'],
    looks: (of) => expect(Object.keys(of('student.removed').student)).to.deep.equal(['id']),
  },
];
