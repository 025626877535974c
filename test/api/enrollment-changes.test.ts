import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { factRecordsOf } from '../toolkit/assert/facts.ts';
import { buildAccessDelivery, buildEnrollment, type TestEnrollment } from '../toolkit/builders/access.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildCohort } from '../toolkit/builders/courses.ts';
import { call, clock, expectError } from '../toolkit/drive/api.ts';
import { callsOf, type ClubCalls } from '../toolkit/drive/club-calls.ts';
import { factsOf, rowCounts, testDatabase } from '../toolkit/stack/database.ts';

const dayMs = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * dayMs);

describe('changes of an enrollment', () => {
  let club: TestClub;
  let send: ClubCalls;
  let enrollment: TestEnrollment;
  const change = (verb: string, body?: object, id: Id = enrollment.id) =>
    send(verb === 'end' ? 'PUT' : 'POST', `/enrollments/${id}/${verb}`, body);
  const types = async () => (await factsOf(club.id)).map(({ type }) => type);
  beforeEach(async () => {
    club = await buildClub();
    send = callsOf(club);
    enrollment = await buildEnrollment(club.id);
  });

  describe('POST …/revoke', () => {
    it('revokes access with one access.revoked fact, and changes nothing if the request is repeated', async () => {
      const { status, body } = await change('revoke');
      expect(status).to.equal(200);
      expect(body.data).to.include({ status: 'revoked', revoked_reason: 'revocation' });
      clock.advance(1_000);
      expect((await change('revoke')).body).to.deep.equal(body);
      const { id: subjectId, studentId } = enrollment;
      expect(await factRecordsOf(club.id)).to.deep.equal([
        { type: 'access.revoked', studentId, subjectId, details: null },
      ]);
    });

    it('raises one access.revoked fact for four simultaneous requests', async () => {
      await Promise.all([1, 2, 3, 4].map(() => change('revoke')));
      expect(await types()).to.deep.equal(['access.revoked']);
    });
  });

  describe('POST …/restore', () => {
    it('restores the record to its state before the revocation, and raises access.restored', async () => {
      const before = (await send('GET', `/enrollments/${enrollment.id}`)).body;
      await change('revoke');
      expect((await change('restore')).body).to.deep.equal(before);
      expect(await types()).to.deep.equal(['access.revoked', 'access.restored']);
    });

    it('returns 409 enrollment_not_revoked for an enrollment that is not revoked, and raises no fact', async () => {
      expectError(await change('restore'), 'enrollment_not_revoked');
      expect(await types()).to.deep.equal([]);
    });

    it('returns 409 already_enrolled if the student was granted the delivery again', async () => {
      await change('revoke');
      await send('POST', '/enrollments', { student_id: enrollment.studentId, delivery_id: enrollment.deliveryId });
      expectError(await change('restore'), 'already_enrolled');
      expect(await types()).to.deep.equal(['access.revoked', 'access.granted']);
    });

    it('restores an enrollment from a purchase, even if the student has a second one from a grant', async () => {
      const { studentId, deliveryId } = enrollment;
      const sold = {
        studentId,
        deliveryId,
        source: 'purchase' as const,
        originId: newId(),
        revoked: 'refund' as const,
      };
      const { id } = await buildEnrollment(club.id, sold);
      expect((await change('restore', undefined, id)).body.data.status).to.equal('active');
    });
  });

  describe('POST …/move', () => {
    const build = async () => {
      const { courseId, id: deliveryId } = await buildAccessDelivery(club.id);
      const [from, to] = [await buildCohort(club.id, courseId), await buildCohort(club.id, courseId)];
      const { id } = await buildEnrollment(club.id, { deliveryId, cohortId: from.id, endsAt: inDays(3) });
      return { id, from: from.id, to: to.id };
    };

    it('changes only the cohort, and changes nothing if the enrollment already has this cohort', async () => {
      const { id, from, to } = await build();
      const before = (await send('GET', `/enrollments/${id}`)).body.data;
      await eachCase([to, to, to.toUpperCase()], async (cohort) => {
        const { status, body } = await change('move', { cohort_id: cohort }, id);
        expect(status).to.equal(200);
        expect(body.data).to.deep.equal({ ...before, cohort_id: to });
      });
      const [fact, ...more] = await factRecordsOf(club.id);
      expect(more).to.deep.equal([]);
      expect(fact).to.include({ type: 'access.moved', subjectId: id });
      expect(fact?.details).to.deep.equal({ previousCohortId: from });
    });

    it('returns 404 for an unknown cohort and for a cohort of another course', async () => {
      const [{ id }, other] = [await build(), await build()];
      await eachCase([newId(), other.to], async (cohort) =>
        expectError(await change('move', { cohort_id: cohort }, id), 'not_found'),
      );
    });

    it('returns 409 for a revoked enrollment, but 404 if the cohort is unknown or of another club', async () => {
      const [{ id, to }, other] = [await build(), await build()];
      await change('revoke', undefined, id);
      await eachCase([newId(), other.to], async (cohort) =>
        expectError(await change('move', { cohort_id: cohort }, id), 'not_found'),
      );
      expectError(await change('move', { cohort_id: to }, id), 'enrollment_revoked');
    });
  });

  describe('PUT …/end', () => {
    it('raises one fact if the end is changed or removed, and no fact if the end stays the same', async () => {
      const [one, two] = [inDays(10).toISOString(), inDays(20).toISOString()];
      await eachCase([one, one, two, one], async (end) => {
        const { status, body } = await change('end', { ends_at: end });
        expect([status, body.data.ends_at]).to.deep.equal([200, end]);
      });
      for (let times = 0; times < 2; times++)
        expect((await change('end', {})).body.data, `times ${times}`).to.not.have.property('ends_at');
      const facts = (await factRecordsOf(club.id)).map(({ type, details }) => [type, details]);
      expect(facts).to.deep.equal([
        ['access.shortened', null],
        ['access.extended', { previousEndsAt: one }],
        ['access.shortened', { previousEndsAt: two }],
        ['access.extended', { previousEndsAt: one }],
      ]);
    });

    it('ends the access if the new end is in the past', async () => {
      const { id } = await buildEnrollment(club.id, { startsAt: inDays(-9) });
      const { body } = await change('end', { ends_at: inDays(-1).toISOString() }, id);
      expect(body.data.status).to.equal('expired');
    });

    it('returns 409 for a revoked enrollment, with the code enrollment_revoked', async () => {
      await change('revoke');
      expectError(await change('end', {}), 'enrollment_revoked');
    });

    it('returns 409 already_enrolled if the enrollment has ended and the student has another, active one', async () => {
      await change('end', { ends_at: inDays(1 / 24).toISOString() });
      clock.advance(dayMs / 24);
      const { studentId: student_id, deliveryId: delivery_id } = enrollment;
      const next = (await send('POST', '/enrollments', { student_id, delivery_id })).body.data;
      expectError(await change('end', {}), 'already_enrolled');
      await change('revoke', undefined, next.id);
      expect((await change('end', {})).body.data.status).to.equal('active');
      expectError(await send('POST', '/enrollments', { student_id, delivery_id }), 'already_enrolled');
      expectError(await change('restore', undefined, next.id), 'already_enrolled');
    });

    it('returns 422 for an end that is not after the beginning, and changes nothing', async () => {
      const before = await rowCounts();
      expectError(await change('end', { ends_at: inDays(-1).toISOString() }), 'invalid_request');
      expectError(await change('end', { ends_at: '2027-02-30T00:00:00Z' }), 'invalid_request');
      expect(await rowCounts()).to.deep.equal(before);
    });
  });

  describe('DELETE /v1/clubs/{clubId}/enrollments/{enrollmentId}', () => {
    const remove = (id: Id = enrollment.id) => send('DELETE', `/enrollments/${id}`);
    const reasonOf = async (id: Id) => {
      const source = await testDatabase();
      return source.query<object[]>(`SELECT revoked_reason FROM enrollments WHERE id = $1`, [id]);
    };

    it('raises access.revoked with the reason removal, and hides the enrollment from lists and reads', async () => {
      const { status, text } = await remove();
      expect([status, text]).to.deep.equal([204, '']);
      expect(await types()).to.deep.equal(['access.revoked']);
      expect(await reasonOf(enrollment.id)).to.deep.equal([{ revoked_reason: 'removal' }]);
      expect((await send('GET', '/enrollments')).body).to.deep.equal({ data: [], total: 0 });
      expectError(await remove(), 'not_found');
      expect(await types()).to.deep.equal(['access.revoked']);
    });

    it('removes a revoked enrollment without another fact', async () => {
      await change('revoke');
      expect((await remove()).status).to.equal(204);
      expect(await types()).to.deep.equal(['access.revoked']);
    });
  });

  it('returns 404 if the enrollment is unknown, removed, of another club or of a removed student', async () => {
    const foreign = await buildEnrollment((await buildClub()).id);
    const removed = await buildEnrollment(club.id, { revoked: 'removal' });
    await call('DELETE', `/v1/clubs/${club.id}/students/${enrollment.studentId}`, { token: club.owner.token });
    const facts = await types();
    await eachCase([newId(), foreign.id, removed.id, enrollment.id], async (id) => {
      await eachCase(['revoke', 'restore'], async (verb) =>
        expectError(await change(verb, undefined, id), 'not_found'),
      );
      expectError(await change('move', { cohort_id: newId() }, id), 'not_found');
      expectError(await change('end', {}, id), 'not_found');
      expectError(await send('DELETE', `/enrollments/${id}`), 'not_found');
    });
    expect(await types()).to.deep.equal(facts);
  });
});
