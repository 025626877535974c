import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildAccessDelivery, buildEnrollment } from '../toolkit/builders/access.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildCohort, buildCourse } from '../toolkit/builders/courses.ts';
import { expectError } from '../toolkit/drive/api.ts';
import { callsOf, type ClubCalls } from '../toolkit/drive/club-calls.ts';
import { factsOf, rowCounts } from '../toolkit/stack/database.ts';

describe('deliveries', () => {
  let club: TestClub;
  let send: ClubCalls;
  const opening = (courseId: Id, cohortId?: Id) => ({
    kind: 'course',
    course_id: courseId,
    ...(cohortId && { cohort_id: cohortId }),
  });

  beforeEach(async () => {
    club = await buildClub();
    send = callsOf(club);
  });

  describe('POST /v1/clubs/{clubId}/deliveries', () => {
    it('creates a delivery, returns the record that later reads return, and raises no fact', async () => {
      const course = await buildCourse(club.id);
      const cohort = await buildCohort(club.id, course.id);
      const { status, body } = await send('POST', '/deliveries', {
        name: '  Knots   for all ',
        opens: opening(course.id.toUpperCase(), cohort.id),
        free: true,
        access_days: 30,
      });
      expect(status).to.equal(201);
      const { id, created_at: at } = body.data;
      expect(body.data).to.deep.equal({
        id,
        name: 'Knots for all',
        opens: opening(course.id, cohort.id),
        free: true,
        access_days: 30,
        archived: false,
        created_at: at,
        updated_at: at,
      });
      expect((await send('GET', `/deliveries/${id}`)).body).to.deep.equal(body);
      expect(await factsOf(club.id)).to.deep.equal([]);
    });

    it('uses defaults for omitted fields: no cohort, not free, no limit of days', async () => {
      const course = await buildCourse(club.id);
      const { body } = await send('POST', '/deliveries', { name: 'Knots', opens: opening(course.id) });
      expect(body.data).to.not.have.property('access_days');
      expect(body.data).to.deep.include({ free: false, opens: opening(course.id) });
    });

    it('returns 404 for a course outside the club or a cohort of another course, and writes nothing', async () => {
      const [course, other] = [await buildCourse(club.id), await buildCourse(club.id)];
      const foreign = await buildCourse((await buildClub()).id);
      const cohort = await buildCohort(club.id, other.id);
      const before = await rowCounts();
      await eachCase([opening(newId()), opening(foreign.id), opening(course.id, cohort.id)], async (opens) =>
        expectError(await send('POST', '/deliveries', { name: 'Knots', opens }), 'not_found'),
      );
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('returns 422 for an invalid name, an invalid number of days or an unknown kind of item', async () => {
      const { id } = await buildCourse(club.id);
      const good = { name: 'Knots', opens: opening(id) };
      await eachCase([1, 36_500], async (days) =>
        expect((await send('POST', '/deliveries', { ...good, access_days: days })).status).to.equal(201),
      );
      await eachCase(
        [
          { ...good, name: ' ' },
          { ...good, name: 'a'.repeat(121) },
          { ...good, access_days: 0 },
          { ...good, access_days: 36_501 },
          { ...good, opens: { kind: 'shop', course_id: id } },
        ],
        async (bad) => expectError(await send('POST', '/deliveries', bad), 'invalid_request'),
      );
    });
  });

  describe('GET /v1/clubs/{clubId}/deliveries', () => {
    it('lists this club’s deliveries newest first, in pages, and filters them by archived', async () => {
      await buildAccessDelivery((await buildClub()).id);
      const [first, second] = [
        await buildAccessDelivery(club.id),
        await buildAccessDelivery(club.id, { archived: true }),
      ];
      const ids = async (query: string) => {
        const { body } = await send('GET', `/deliveries${query}`);
        return [body.total, ...body.data.map(({ id }: { id: Id }) => id)];
      };
      expect(await ids('')).to.deep.equal([2, second.id, first.id]);
      expect(await ids('?archived=true')).to.deep.equal([1, second.id]);
      expect(await ids('?archived=false')).to.deep.equal([1, first.id]);
      expect(await ids('?page=2&page_size=1')).to.deep.equal([2, first.id]);
    });
  });

  describe('PATCH /v1/clubs/{clubId}/deliveries/{deliveryId}', () => {
    it('changes the given fields, and removes the limit of days if access_days is 0', async () => {
      const delivery = await buildAccessDelivery(club.id, { accessDays: 7 });
      const path = `/deliveries/${delivery.id}`;
      const before = (await send('GET', path)).body.data;
      const named = (await send('PATCH', path, { name: 'Renamed', free: true })).body.data;
      expect(named).to.deep.equal({ ...before, name: 'Renamed', free: true, updated_at: named.updated_at });
      expect((await send('PATCH', path, { access_days: 9 })).body.data.access_days).to.equal(9);
      expect((await send('PATCH', path, { access_days: 0 })).body.data).to.not.have.property('access_days');
    });

    it('replaces the item that the delivery opens, but only while no student is enrolled', async () => {
      const [course, cohort] = [await buildCourse(club.id), { id: '' }];
      cohort.id = (await buildCohort(club.id, course.id)).id;
      const delivery = await buildAccessDelivery(club.id);
      const path = `/deliveries/${delivery.id}`;
      const { body } = await send('PATCH', path, { opens: opening(course.id, cohort.id) });
      expect(body.data.opens).to.deep.equal(opening(course.id, cohort.id));
      await buildEnrollment(club.id, { deliveryId: delivery.id });
      const same = { opens: opening(course.id.toUpperCase(), cohort.id.toUpperCase()), name: 'Same' };
      expect((await send('PATCH', path, same)).status).to.equal(200);
    });

    it('returns 409 in_use for a change of course or cohort after an enrollment, and changes nothing', async () => {
      const course = await buildCourse(club.id);
      const cohort = await buildCohort(club.id, course.id);
      const delivery = await buildAccessDelivery(club.id, { courseId: course.id });
      await buildEnrollment(club.id, { deliveryId: delivery.id, revoked: 'refund' });
      const path = `/deliveries/${delivery.id}`;
      const before = (await send('GET', path)).body;
      await eachCase([opening((await buildCourse(club.id)).id), opening(course.id, cohort.id)], async (opens) =>
        expectError(await send('PATCH', path, { name: 'New', opens }), 'in_use'),
      );
      expect((await send('GET', path)).body).to.deep.equal(before);
    });

    it('returns 404, not 409, for a course of another club while a student is enrolled', async () => {
      const delivery = await buildAccessDelivery(club.id);
      await buildEnrollment(club.id, { deliveryId: delivery.id });
      const foreign = await buildCourse((await buildClub()).id);
      expectError(await send('PATCH', `/deliveries/${delivery.id}`, { opens: opening(foreign.id) }), 'not_found');
    });
  });

  describe('POST …/deliveries/{deliveryId}/archive and …/unarchive', () => {
    it('archives and unarchives a delivery, and changes nothing if the request is repeated', async () => {
      const { id } = await buildAccessDelivery(club.id);
      await eachCase(
        [
          ['archive', true],
          ['unarchive', false],
        ] as const,
        async ([verb, archived]) => {
          const once = await send('POST', `/deliveries/${id}/${verb}`);
          expect([once.status, once.body.data.archived]).to.deep.equal([200, archived]);
          expect((await send('POST', `/deliveries/${id}/${verb}`)).body).to.deep.equal(once.body);
        },
      );
    });
  });

  it('returns 404 in every operation on a delivery if it is unknown or belongs to another club', async () => {
    const foreign = await buildAccessDelivery((await buildClub()).id);
    await eachCase([newId(), foreign.id], async (id) => {
      expectError(await send('GET', `/deliveries/${id}`), 'not_found');
      expectError(await send('PATCH', `/deliveries/${id}`, { name: 'New' }), 'not_found');
      expectError(await send('POST', `/deliveries/${id}/archive`), 'not_found');
      expectError(await send('POST', `/deliveries/${id}/unarchive`), 'not_found');
    });
  });
});
