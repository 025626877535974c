import { Queries } from '../../../../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import type { EventType } from '../../../../../platform/core/event-types.ts';
import { newId, type Id } from '../../../../../platform/core/ids.ts';
import { assembleBody } from '../../../../toolkit/drive/facts.ts';
import { buildEnrollment, buildAccessDelivery, type TestAccessDelivery } from '../../../../toolkit/builders/access.ts';
import { eventFaults } from '../../../../toolkit/assert/contract-schemas.ts';
import { buildClub, buildStudent } from '../../../../toolkit/builders/clubs.ts';
import { buildCohort } from '../../../../toolkit/builders/courses.ts';
import { testDatabase } from '../../../../toolkit/stack/database.ts';
import type { FactToTell } from '../../../../../platform/engine/facts.ts';

const student = {
  name: 'Zoë 学生',
  email: 'zoe@example.com',
  verified: false,
  createdAt: new Date('2026-02-20T08:00:00.123Z'),
  removed: false,
};
const startsAt = new Date('2026-03-02T09:15:00.000Z');
const endsAt = new Date('2026-09-02T00:00:00.000Z');
const now = new Date('2026-03-03T00:00:00.000Z');

describe('the bodies of access events', () => {
  let clubId: Id;
  let delivery: TestAccessDelivery;
  beforeEach(async () => {
    ({ id: clubId } = await buildClub());
    delivery = await buildAccessDelivery(clubId);
  });

  /** Checks `data` against the contract. */
  const dataOf = async (
    type: EventType,
    enrollment: { id: Id; studentId: Id },
    details: FactToTell['details'] = null,
  ): Promise<unknown> => {
    const { manager } = await testDatabase();
    const subject = { subjectId: enrollment.id, studentId: enrollment.studentId };
    const fact = { id: newId(), clubId, type, details, occurredAt: startsAt, ...subject };
    const body = JSON.parse(
      await assembleBody(new Queries(manager), fact, { id: enrollment.studentId, ...student }, now),
    );
    expect(eventFaults(type, body)).to.deep.equal([]);
    return body.data;
  };
  const expectedData = (studentId: Id) => ({
    delivery: {
      id: delivery.id,
      name: delivery.name,
      opens: { kind: 'course', course_id: delivery.courseId },
    },
    student: {
      id: studentId,
      name: student.name,
      email: student.email,
      verified: false,
      created_at: '2026-02-20T08:00:00.123Z',
    },
  });

  for (const type of [
    'access.granted',
    'access.restored',
    'access.extended',
    'access.shortened',
    'access.moved',
  ] as const)
    it(`contain the current enrollment, delivery and student (${type})`, async () => {
      const cohort = await buildCohort(clubId, delivery.courseId);
      const attributes = { deliveryId: delivery.id, cohortId: cohort.id, startsAt, endsAt, source: 'invite' as const };
      const enrollment = await buildEnrollment(clubId, attributes);
      expect(await dataOf(type, enrollment)).to.deep.equal({
        enrollment: {
          id: enrollment.id,
          status: 'active',
          source: 'invite',
          cohort_id: cohort.id,
          starts_at: startsAt.toISOString(),
          ends_at: endsAt.toISOString(),
        },
        has_access: true,
        ...expectedData(enrollment.studentId),
      });
    });

  for (const reason of ['refund', 'cancellation', 'revocation', 'removal'] as const)
    it(`contain the status revoked, the time and the reason (access.revoked, ${reason})`, async () => {
      const enrollment = await buildEnrollment(clubId, { deliveryId: delivery.id, startsAt, revoked: reason });
      const data = await dataOf('access.revoked', enrollment);
      expect(data).to.deep.include(expectedData(enrollment.studentId));
      expect(data).to.have.nested.include({ 'enrollment.status': 'revoked', 'enrollment.revoked_reason': reason });
      expect(data).to.have.nested.property('enrollment.revoked_at');
    });

  it('show whether the student has access to the delivery, even by another enrollment (EVT-21)', async () => {
    const hour = 3_600_000;
    const revoked = await buildEnrollment(clubId, { deliveryId: delivery.id, startsAt, revoked: 'refund' });
    const { studentId } = revoked;
    const hasAccess = async () => expect(await dataOf('access.revoked', revoked)).to.have.property('has_access');
    (await hasAccess()).that.equals(false);
    const of = { studentId, deliveryId: delivery.id, startsAt };
    const sold = () => ({ ...of, source: 'purchase' as const, originId: newId() });
    await buildEnrollment(clubId, { ...of, studentId: (await buildStudent(clubId)).id });
    await buildEnrollment(clubId, { ...of, deliveryId: (await buildAccessDelivery(clubId)).id });
    await buildEnrollment(clubId, { ...sold(), endsAt: now });
    await buildEnrollment(clubId, { ...sold(), startsAt: new Date(now.getTime() + hour) });
    (await hasAccess()).that.equals(false);
    await buildEnrollment(clubId, { ...sold(), startsAt: now });
    (await hasAccess()).that.equals(true);
  });

  it('of access.extended and access.shortened contain the previous end if one existed', async () => {
    const enrollment = await buildEnrollment(clubId, { deliveryId: delivery.id, startsAt, endsAt });
    const previousEndsAt = '2026-06-02T00:00:00.000Z';
    for (const type of ['access.extended', 'access.shortened'] as const) {
      expect(await dataOf(type, enrollment, { previousEndsAt }), type).to.include({ previous_ends_at: previousEndsAt });
      expect(await dataOf(type, enrollment), type).to.not.have.property('previous_ends_at');
    }
  });

  it('of access.moved contain the previous cohort if one existed', async () => {
    const enrollment = await buildEnrollment(clubId, { deliveryId: delivery.id, startsAt });
    const previousCohortId = newId();
    expect(await dataOf('access.moved', enrollment, { previousCohortId })).to.include({
      previous_cohort_id: previousCohortId,
    });
    expect(await dataOf('access.moved', enrollment)).to.not.have.property('previous_cohort_id');
  });
});
