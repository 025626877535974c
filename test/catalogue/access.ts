/** Changes of access by administrators and links (EVT-4 to EVT-9). */
import { inDays, link, type Cause } from './cause.ts';
import { expect } from 'chai';

export const access: readonly Cause[] = [
  {
    cause: 'a grant',
    prepare: async ({ admin, student, deliveryId }) => {
      const { id } = await student();
      return () => admin('POST', '/enrollments', { student_id: id, delivery_id: deliveryId });
    },
    raises: ['access.granted'],
    looks: (of) => expect(of('access.granted').enrollment).to.include({ source: 'grant', status: 'active' }),
  },
  {
    cause: 'a registration link that is claimed twice',
    prepare: async (scene) => {
      const claimant = await scene.student();
      const path = `/classroom/registration-links/${await link(scene)}/claim`;
      return async () => {
        await scene.as(claimant, 'POST', path);
        await scene.as(claimant, 'POST', path);
      };
    },
    raises: ['access.granted'],
    looks: (of) => expect(of('access.granted').enrollment.source).to.equal('registration_link'),
  },
  {
    cause: 'a revocation',
    prepare: async ({ admin, enrolled }) => {
      const { enrollmentId } = await enrolled();
      return () => admin('POST', `/enrollments/${enrollmentId}/revoke`);
    },
    raises: ['access.revoked'],
    looks: (of) =>
      expect(of('access.revoked').enrollment).to.include({ status: 'revoked', revoked_reason: 'revocation' }),
  },
  {
    cause: 'the removal of an enrollment',
    prepare: async ({ admin, enrolled }) => {
      const { enrollmentId } = await enrolled();
      return () => admin('DELETE', `/enrollments/${enrollmentId}`);
    },
    raises: ['access.revoked'],
    looks: (of) => expect(of('access.revoked').enrollment.revoked_reason).to.equal('removal'),
  },
  {
    cause: 'a restoration',
    prepare: async ({ admin, enrolled }) => {
      const { enrollmentId } = await enrolled();
      await admin('POST', `/enrollments/${enrollmentId}/revoke`);
      return () => admin('POST', `/enrollments/${enrollmentId}/restore`);
    },
    raises: ['access.restored'],
    looks: (of) => expect(of('access.restored').enrollment.status).to.equal('active'),
  },
  {
    cause: 'the end of an enrollment that is moved to a later time',
    prepare: async ({ admin, enrolled }) => {
      const { enrollmentId } = await enrolled();
      await admin('PUT', `/enrollments/${enrollmentId}/end`, { ends_at: inDays(10) });
      return () => admin('PUT', `/enrollments/${enrollmentId}/end`, { ends_at: inDays(20) });
    },
    raises: ['access.extended'],
    looks: (of) =>
      expect(of('access.extended').enrollment.ends_at > of('access.extended').previous_ends_at).to.equal(true),
  },
  {
    cause: 'the end of an enrollment that is moved to an earlier time',
    prepare: async ({ admin, enrolled }) => {
      const { enrollmentId } = await enrolled();
      return () => admin('PUT', `/enrollments/${enrollmentId}/end`, { ends_at: inDays(10) });
    },
    raises: ['access.shortened'],
    looks: (of) => expect(of('access.shortened')).not.to.have.property('previous_ends_at'),
  },
  {
    cause: 'an enrollment that is moved to another cohort',
    prepare: async ({ admin, enrolled, cohortId }) => {
      const { enrollmentId } = await enrolled();
      return () => admin('POST', `/enrollments/${enrollmentId}/move`, { cohort_id: cohortId });
    },
    raises: ['access.moved'],
    looks: (of, { cohortId }) => expect(of('access.moved').enrollment.cohort_id).to.equal(cohortId),
  },
];
