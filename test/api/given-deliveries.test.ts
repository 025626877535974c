/** Tests deliveries that a new account receives: deliveries in an invitation, and free deliveries at sign-up. */
import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { buildAccessDelivery } from '../toolkit/builders/access.ts';
import { buildClub, password, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildCohort, buildCourse } from '../toolkit/builders/courses.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { callsOf, type ClubCalls } from '../toolkit/drive/club-calls.ts';
import { factsOf, rowCounts } from '../toolkit/stack/database.ts';

const someone = () => `${newId()}@example.com`;

describe('deliveries of a new account', () => {
  let club: TestClub;
  let send: ClubCalls;
  beforeEach(async () => {
    club = await buildClub();
    send = callsOf(club);
  });
  const types = async () => (await factsOf(club.id)).map(({ type }) => type);
  const grantsOf = async (query = '') => {
    const { data } = (await send('GET', `/enrollments${query}`)).body;
    return data.map((one: { source: string; delivery: { id: Id } }) => [one.source, one.delivery.id]);
  };

  describe('POST /v1/clubs/{clubId}/students with delivery_ids', () => {
    const invite = (ids: readonly Id[], email = someone()) =>
      send('POST', '/students', { name: 'Ada', email, delivery_ids: ids });

    it('raises student.created, and access.granted for each named delivery, but grants no free delivery', async () => {
      await buildAccessDelivery(club.id, { free: true });
      const [one, two] = [await buildAccessDelivery(club.id), await buildAccessDelivery(club.id)];
      const { status, body } = await invite([one.id, two.id]);
      expect(status).to.equal(201);
      expect(await types()).to.deep.equal(['student.created', 'access.granted', 'access.granted']);
      expect(await grantsOf(`?student_id=${body.data.id}`)).to.have.deep.members([
        ['invite', one.id],
        ['invite', two.id],
      ]);
    });

    it('grants a delivery once if its id is repeated in capital letters', async () => {
      const { id } = await buildAccessDelivery(club.id);
      expect((await invite([id, id.toUpperCase()])).status).to.equal(201);
      expect((await invite([])).status).to.equal(201);
      expect(await grantsOf()).to.deep.equal([['invite', id]]);
    });

    it('refuses the invitation if a delivery is unknown, archived or named twice, or if there are over 50', async () => {
      const good = await buildAccessDelivery(club.id);
      const foreign = await buildAccessDelivery((await buildClub()).id);
      const archived = await buildAccessDelivery(club.id, { archived: true });
      const before = await rowCounts();
      expectError(await invite([good.id, newId()]), 'not_found');
      expectError(await invite([good.id, foreign.id]), 'not_found');
      expectError(await invite([good.id, archived.id]), 'delivery_archived');
      expectError(await invite([good.id, good.id]), 'invalid_request');
      expectError(await invite(Array.from({ length: 51 }, () => newId())), 'invalid_request');
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('returns 409 email_taken, and grants nothing to the existing student', async () => {
      const { id } = await buildAccessDelivery(club.id);
      const email = someone();
      await invite([], email);
      expectError(await invite([id], email), 'email_taken');
      expect(await grantsOf()).to.deep.equal([]);
    });

    it('returns 404, not 409, if both the delivery is unknown and the e-mail is taken', async () => {
      const email = someone();
      await invite([], email);
      expectError(await invite([newId()], email), 'not_found');
    });
  });

  describe('POST …/classroom/sign-up', () => {
    const signUp = (email = someone()) =>
      call('POST', `/v1/clubs/${club.id}/classroom/sign-up`, { body: { name: 'Ada', email, password } });

    it('grants the club’s free deliveries, except archived deliveries', async () => {
      const free = await buildAccessDelivery(club.id, { free: true });
      await buildAccessDelivery(club.id);
      await buildAccessDelivery(club.id, { free: true, archived: true });
      await buildAccessDelivery((await buildClub()).id, { free: true });
      await signUp();
      expect(await grantsOf()).to.deep.equal([['free', free.id]]);
      expect(await types()).to.deep.equal(['student.created', 'access.granted']);
    });

    it('does not grant a free delivery of an ended cohort', async () => {
      const course = await buildCourse(club.id);
      const over = await buildCohort(club.id, course.id, { endsAt: new Date(Date.now() - 1_000) });
      const opens = { courseId: course.id, cohortId: over.id };
      await buildAccessDelivery(club.id, { ...opens, free: true });
      const forDays = await buildAccessDelivery(club.id, { ...opens, free: true, accessDays: 3 });
      expect((await signUp()).status).to.equal(202);
      expect(await grantsOf()).to.deep.equal([['free', forDays.id]]);
    });

    it('grants nothing for a repeated sign-up, not even deliveries that became free later', async () => {
      await buildAccessDelivery(club.id, { free: true });
      const email = someone();
      await Promise.all([signUp(email), signUp(email), signUp(email)]);
      await buildAccessDelivery(club.id, { free: true });
      await signUp(email.toUpperCase());
      expect(await grantsOf()).to.have.length(1);
      expect(await types()).to.deep.equal(['student.created', 'access.granted']);
    });
  });
});
