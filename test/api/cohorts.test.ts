import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildAccessDelivery, buildEnrollment } from '../toolkit/builders/access.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildCohort, buildCourse, type TestCourse } from '../toolkit/builders/courses.ts';
import { expectError } from '../toolkit/drive/api.ts';
import { callsOf, type ClubCalls } from '../toolkit/drive/club-calls.ts';
import { inThisOrder } from '../toolkit/drive/races.ts';
import { rowCounts } from '../toolkit/stack/database.ts';

const spring = { starts_at: '2026-03-01T00:00:00.000Z', ends_at: '2026-06-01T00:00:00.000Z' };
describe('cohorts of a course', () => {
  let club: TestClub;
  let send: ClubCalls;
  let course: TestCourse;
  beforeEach(async () => {
    club = await buildClub();
    send = callsOf(club);
    course = await buildCourse(club.id);
  });

  describe('GET and POST /v1/clubs/{clubId}/courses/{courseId}/cohorts', () => {
    it('creates a cohort, returns the complete record, and lists the cohorts of a course newest first', async () => {
      await buildCohort(club.id, (await buildCourse(club.id)).id);
      const plain = await send('POST', `/courses/${course.id}/cohorts`, { name: 'Plain' });
      const { status, body } = await send('POST', `/courses/${course.id}/cohorts`, {
        name: ' Spring  term ',
        ...spring,
      });
      expect(status).to.equal(201);
      const { id, created_at: at } = body.data;
      expect(body.data).to.deep.equal({
        id,
        course_id: course.id,
        name: 'Spring term',
        ...spring,
        created_at: at,
        updated_at: at,
      });
      const list = await send('GET', `/courses/${course.id}/cohorts`);
      expect(list.body).to.deep.equal({ data: [body.data, plain.body.data], total: 2 });
      expect(plain.body.data).to.not.have.any.keys('starts_at', 'ends_at');
    });

    it('returns 404 for an unknown course and for a course of another club', async () => {
      const foreign = await buildCourse((await buildClub()).id);
      await eachCase([newId(), foreign.id], async (id) => {
        expectError(await send('GET', `/courses/${id}/cohorts`), 'not_found');
        expectError(await send('POST', `/courses/${id}/cohorts`, { name: 'Spring' }), 'not_found');
      });
    });

    it('returns 422 if the end is not after the beginning or a time does not exist, and writes nothing', async () => {
      const before = await rowCounts();
      await eachCase(
        [
          { starts_at: spring.ends_at, ends_at: spring.starts_at },
          { starts_at: spring.starts_at, ends_at: spring.starts_at },
          { ends_at: '2026-02-31T00:00:00Z' },
          { ends_at: '2016-12-31T23:59:60Z' },
          { ends_at: 'tomorrow' },
          { ends_at: '' },
        ],
        async (dates) =>
          expectError(
            await send('POST', `/courses/${course.id}/cohorts`, { name: 'Bad', ...dates }),
            'invalid_request',
          ),
      );
      expect(await rowCounts()).to.deep.equal(before);
    });
  });

  describe('PATCH /v1/clubs/{clubId}/cohorts/{cohortId}', () => {
    const build = async (): Promise<Id> =>
      (await send('POST', `/courses/${course.id}/cohorts`, { name: 'Spring', ...spring })).body.data.id;

    it('changes the given fields, and removes a date if its new value is an empty text', async () => {
      const id = await build();
      const change = async (body: object) => (await send('PATCH', `/cohorts/${id}`, body)).body.data;
      expect(await change({ name: 'Early' })).to.include({ name: 'Early', ...spring });
      expect(await change({ ends_at: '2026-07-01T02:00:00+02:00' })).to.include({
        ends_at: '2026-07-01T00:00:00.000Z',
      });
      const open = await change({ ends_at: '' });
      expect(open).to.include({ starts_at: spring.starts_at }).and.not.have.property('ends_at');
      expect(await change({ starts_at: '' })).to.not.have.property('starts_at');
    });

    it('returns 422 if the end is not after the beginning, a time does not exist, or no field is given', async () => {
      const id = await build();
      await eachCase(
        [
          { ends_at: spring.starts_at },
          { starts_at: spring.ends_at },
          { ends_at: '2026-02-30T00:00:00Z' },
          { ends_at: '2026-7-1' },
          {},
        ],
        async (bad) => expectError(await send('PATCH', `/cohorts/${id}`, bad), 'invalid_request'),
      );
    });
  });

  describe('DELETE /v1/clubs/{clubId}/cohorts/{cohortId}', () => {
    it('deletes a cohort without deliveries and enrollments', async () => {
      const { id } = await buildCohort(club.id, course.id);
      expect((await send('DELETE', `/cohorts/${id}`)).status).to.equal(204);
      expect((await send('GET', `/courses/${course.id}/cohorts`)).body).to.deep.equal({ data: [], total: 0 });
    });

    it('returns 409 in_use while the cohort has a delivery or an enrollment, even a revoked enrollment', async () => {
      const [one, two] = [await buildCohort(club.id, course.id), await buildCohort(club.id, course.id)];
      await buildAccessDelivery(club.id, { courseId: course.id, cohortId: one.id });
      const { id: deliveryId } = await buildAccessDelivery(club.id, { courseId: course.id });
      const enrollment = await buildEnrollment(club.id, { deliveryId, cohortId: two.id, revoked: 'refund' });
      await eachCase([one, two], async ({ id }) => expectError(await send('DELETE', `/cohorts/${id}`), 'in_use'));
      await send('DELETE', `/enrollments/${enrollment.id}`);
      expect((await send('DELETE', `/cohorts/${two.id}`)).status).to.equal(204);
    });

    describe('while a person is being enrolled in the cohort', () => {
      let cohortId: Id;
      let grant: object;
      beforeEach(async () => {
        const { id: deliveryId } = await buildAccessDelivery(club.id, { courseId: course.id });
        ({ id: cohortId } = await buildCohort(club.id, course.id));
        const student = await buildStudent(club.id);
        grant = { student_id: student.id, delivery_id: deliveryId, cohort_id: cohortId };
      });
      const enrollment = () => send('POST', '/enrollments', grant);
      const deletion = () => send('DELETE', `/cohorts/${cohortId}`);
      const cohortLock = () => sql`SELECT 1 FROM cohorts WHERE id = ${cohortId} FOR UPDATE`;

      it('returns 409 in_use if the enrollment is stored before the deletion', async () => {
        const [enrolled, deleted] = await inThisOrder(cohortLock(), enrollment, deletion);
        expect(enrolled.status).to.equal(201);
        expectError(deleted, 'in_use');
      });

      it('deletes the cohort if the deletion is stored first, and the enrollment gets 404', async () => {
        const [deleted, enrolled] = await inThisOrder(cohortLock(), deletion, enrollment);
        expect(deleted.status).to.equal(204);
        expectError(enrolled, 'not_found');
      });
    });
  });

  it('returns 404 for an unknown cohort and for a cohort of another club', async () => {
    const other = await buildClub();
    const foreign = await buildCohort(other.id, (await buildCourse(other.id)).id);
    await eachCase([newId(), foreign.id], async (id) => {
      expectError(await send('PATCH', `/cohorts/${id}`, { name: 'New' }), 'not_found');
      expectError(await send('DELETE', `/cohorts/${id}`), 'not_found');
    });
  });
});
