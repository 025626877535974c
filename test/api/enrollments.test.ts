import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { factRecordsOf } from '../toolkit/assert/facts.ts';
import { buildAccessDelivery, buildEnrollment } from '../toolkit/builders/access.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import { buildCohort, buildCourse } from '../toolkit/builders/courses.ts';
import { clock, expectError } from '../toolkit/drive/api.ts';
import { callsOf, type ClubCalls } from '../toolkit/drive/club-calls.ts';
import { factsOf, rowCounts } from '../toolkit/stack/database.ts';

const dayMs = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString();

describe('enrollments', () => {
  let club: TestClub;
  let send: ClubCalls;
  let student: TestStudent;
  const grant = (deliveryId: Id, more: object = {}) =>
    send('POST', '/enrollments', { student_id: student.id, delivery_id: deliveryId, ...more });
  beforeEach(async () => {
    club = await buildClub();
    send = callsOf(club);
    student = await buildStudent(club.id);
  });

  describe('POST /v1/clubs/{clubId}/enrollments', () => {
    it('creates an enrollment, returns the complete record, and raises one access.granted fact', async () => {
      const delivery = await buildAccessDelivery(club.id);
      const { status, body } = await grant(delivery.id);
      expect(status).to.equal(201);
      const { id, created_at: at } = body.data;
      expect(body.data).to.deep.equal({
        id,
        status: 'active',
        student: { id: student.id, name: 'Stella Student', email: student.email },
        delivery: { id: delivery.id, name: delivery.name },
        source: 'grant',
        starts_at: at,
        created_at: at,
      });
      expect((await send('GET', `/enrollments/${id}`)).body).to.deep.equal(body);
      expect(await factRecordsOf(club.id)).to.deep.equal([
        { type: 'access.granted', studentId: student.id, subjectId: id, details: null },
      ]);
    });

    it('uses the given dates and cohort instead of the delivery’s dates and cohort', async () => {
      const course = await buildCourse(club.id);
      const cohort = await buildCohort(club.id, course.id);
      const { id } = await buildAccessDelivery(club.id, { courseId: course.id, accessDays: 7 });
      const dates = { cohort_id: cohort.id, starts_at: inDays(1), ends_at: inDays(2) };
      expect((await grant(id, dates)).body.data).to.include({ ...dates, status: 'active' });
    });

    it('ends the access after the delivery’s days, or else with the cohort, if no dates are given', async () => {
      const course = await buildCourse(club.id);
      const dates = { startsAt: new Date(inDays(10)), endsAt: new Date(inDays(20)) };
      const cohort = await buildCohort(club.id, course.id, dates);
      const opens = { courseId: course.id, cohortId: cohort.id };
      const lasting = async (delivery: { id: Id }) => {
        const { data } = (await grant(delivery.id)).body;
        return [data.starts_at, data.ends_at, data.cohort_id];
      };
      const [begins, ends] = [dates.startsAt.toISOString(), dates.endsAt.toISOString()];
      expect(await lasting(await buildAccessDelivery(club.id, opens))).to.deep.equal([begins, ends, cohort.id]);
      const afterDays = new Date(dates.startsAt.getTime() + 3 * dayMs).toISOString();
      expect(await lasting(await buildAccessDelivery(club.id, { ...opens, accessDays: 3 }))).to.deep.equal([
        begins,
        afterDays,
        cohort.id,
      ]);
    });

    it('returns 404 for a student or delivery that the club does not have, and for a wrong cohort', async () => {
      const other = await buildClub();
      const delivery = await buildAccessDelivery(club.id);
      const cohort = await buildCohort(club.id, (await buildCourse(club.id)).id);
      const removed = await buildStudent(club.id);
      await send('DELETE', `/students/${removed.id}`);
      const before = await rowCounts();
      await eachCase(
        [
          { student_id: newId() },
          { student_id: (await buildStudent(other.id)).id },
          { student_id: removed.id },
          { delivery_id: newId() },
          { delivery_id: (await buildAccessDelivery(other.id)).id },
          { cohort_id: cohort.id },
        ],
        async (bad) => expectError(await grant(delivery.id, bad), 'not_found'),
      );
      expect((await rowCounts())['enrollments']).to.equal(before['enrollments']);
      expect((await factsOf(club.id)).map(({ type }) => type)).to.deep.equal(['student.removed']);
    });

    it('returns 404, not 409, for a cohort outside the club if the student is already enrolled', async () => {
      const [delivery, other] = [await buildAccessDelivery(club.id), await buildClub()];
      const foreign = await buildCohort(other.id, (await buildCourse(other.id)).id);
      await grant(delivery.id);
      await eachCase([foreign.id, newId()], async (cohort) =>
        expectError(await grant(delivery.id, { cohort_id: cohort }), 'not_found'),
      );
      const own = await buildCohort(club.id, delivery.courseId);
      expectError(await grant(delivery.id, { cohort_id: own.id }), 'already_enrolled');
    });

    it('returns 409 already_enrolled, and changes nothing, until the first enrollment has ended', async () => {
      const { id } = await buildAccessDelivery(club.id);
      await grant(id, { ends_at: inDays(1 / 24) });
      const before = await rowCounts();
      expectError(await grant(id), 'already_enrolled');
      expectError(await grant(id.toUpperCase(), { ends_at: inDays(9) }), 'already_enrolled');
      expect(await rowCounts()).to.deep.equal(before);
      clock.advance(dayMs / 24);
      expect((await grant(id)).status).to.equal(201);
      expect((await factsOf(club.id)).map(({ type }) => type)).to.deep.equal(['access.granted', 'access.granted']);
    });

    it('creates an enrollment, even if the student has a purchased one and a revoked one', async () => {
      const { id } = await buildAccessDelivery(club.id);
      const ofStudent = { studentId: student.id, deliveryId: id };
      await buildEnrollment(club.id, { ...ofStudent, source: 'purchase', originId: newId() });
      await buildEnrollment(club.id, { ...ofStudent, revoked: 'revocation' });
      expect((await grant(id)).status).to.equal(201);
    });

    it('returns 409 delivery_archived for an archived delivery, and writes nothing', async () => {
      const { id } = await buildAccessDelivery(club.id, { archived: true });
      const before = await rowCounts();
      expectError(await grant(id), 'delivery_archived');
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('creates one enrollment and one fact for ten simultaneous grants, and answers the others with 409', async () => {
      const { id } = await buildAccessDelivery(club.id);
      const answers = await Promise.all(Array.from({ length: 10 }, () => grant(id)));
      expect(answers.filter(({ status }) => status === 201)).to.have.length(1);
      await eachCase(answers, (answer) => {
        if (answer.status !== 201) expectError(answer, 'already_enrolled');
      });
      expect((await send('GET', `/enrollments?student_id=${student.id}`)).body.total).to.equal(1);
      expect(await factsOf(club.id)).to.have.length(1);
    });

    it('returns 422 for an end that is not after the beginning', async () => {
      const { id } = await buildAccessDelivery(club.id);
      const before = await rowCounts();
      await eachCase(
        [
          { ends_at: inDays(-1) },
          { starts_at: inDays(2), ends_at: inDays(1) },
          { starts_at: '2027-01-01T00:00:00Z', ends_at: '2027-01-01T00:00:00Z' },
          { ends_at: '2027-02-29T00:00:00Z' },
        ],
        async (bad) => expectError(await grant(id, bad), 'invalid_request'),
      );
      expect(await rowCounts()).to.deep.equal(before);
    });
  });

  describe('GET /v1/clubs/{clubId}/enrollments', () => {
    it('lists enrollments newest first, filtered by student, delivery and revocation', async () => {
      await buildEnrollment((await buildClub()).id);
      const first = await buildEnrollment(club.id, { studentId: student.id });
      const second = await buildEnrollment(club.id, { deliveryId: first.deliveryId, revoked: 'refund' });
      const third = await buildEnrollment(club.id, { studentId: student.id });
      await buildEnrollment(club.id, { studentId: student.id, revoked: 'removal' });
      const ids = async (query: string) => {
        const { body } = await send('GET', `/enrollments?${query}`);
        return [body.total, ...body.data.map(({ id }: { id: Id }) => id)];
      };
      expect(await ids('')).to.deep.equal([3, third.id, second.id, first.id]);
      expect(await ids(`student_id=${student.id}`)).to.deep.equal([2, third.id, first.id]);
      expect(await ids(`delivery_id=${first.deliveryId}`)).to.deep.equal([2, second.id, first.id]);
      expect(await ids('revoked=true')).to.deep.equal([1, second.id]);
      expect(await ids(`revoked=false&student_id=${student.id}&delivery_id=${first.deliveryId}`)).to.deep.equal([
        1,
        first.id,
      ]);
      expect(await ids('page=3&page_size=1')).to.deep.equal([3, first.id]);
      expect(await ids(`student_id=${newId()}`)).to.deep.equal([0]);
    });

    it('shows the status active, expired, or revoked with time and reason', async () => {
      const endsAt = new Date(inDays(1 / 24));
      const one = await buildEnrollment(club.id, { endsAt });
      const statusOf = async () => (await send('GET', `/enrollments/${one.id}`)).body.data.status;
      expect(await statusOf()).to.equal('active');
      clock.advance(dayMs / 24);
      expect(await statusOf()).to.equal('expired');
      const two = await buildEnrollment(club.id, { revoked: 'cancellation' });
      const { data } = (await send('GET', `/enrollments/${two.id}`)).body;
      expect(data).to.include({ status: 'revoked', revoked_reason: 'cancellation' }).and.have.property('revoked_at');
    });
  });

  it('returns 404 for an enrollment that is unknown, removed or of another club', async () => {
    const foreign = await buildEnrollment((await buildClub()).id);
    const removed = await buildEnrollment(club.id, { revoked: 'removal' });
    await eachCase([newId(), foreign.id, removed.id], async (id) =>
      expectError(await send('GET', `/enrollments/${id}`), 'not_found'),
    );
  });

  describe('GET /v1/clubs/{clubId}/classroom/enrollments', () => {
    it('lists the student’s own enrollments with delivery names, without removed enrollments', async () => {
      const delivery = await buildAccessDelivery(club.id);
      const own = await buildEnrollment(club.id, { studentId: student.id, deliveryId: delivery.id });
      const revoked = await buildEnrollment(club.id, { studentId: student.id, revoked: 'refund' });
      await buildEnrollment(club.id, { studentId: student.id, revoked: 'removal' });
      await buildEnrollment(club.id, { deliveryId: delivery.id });
      const { status, body } = await callsOf(club, student.token)('GET', '/classroom/enrollments');
      expect([status, body.total]).to.deep.equal([200, 2]);
      const [newest, oldest] = body.data;
      expect(newest).to.include({ id: revoked.id, status: 'revoked', revoked_reason: 'refund' });
      expect(oldest).to.deep.equal({
        id: own.id,
        status: 'active',
        delivery: { id: delivery.id, name: delivery.name },
        opens: { kind: 'course', course_id: delivery.courseId },
        source: 'grant',
        starts_at: oldest.starts_at,
        created_at: oldest.created_at,
      });
    });
  });
});
