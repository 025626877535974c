/** Tests how administrators write mentorships, how students book sessions, and how sessions end. */
import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { bookSession, rateSession, setAgenda } from '../../domain/mentorships/booking.ts';
import { listSlots } from '../../domain/mentorships/classroom.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { wakesBy } from '../toolkit/assert/wakes.ts';
import { buildAccessDelivery, buildEnrollment, buildLearner, buildOpenCourse } from '../toolkit/builders/access.ts';
import { buildPlan } from '../toolkit/builders/billing.ts';
import { buildClub, buildMember, buildStudent, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import {
  allWeek,
  buildMentorship,
  buildSession,
  type MentorshipOptions,
  type TestMentorship,
} from '../toolkit/builders/mentorships.ts';
import { call, clock, expectError, type Answer } from '../toolkit/drive/api.ts';
import { callsOf, type ClubCalls } from '../toolkit/drive/club-calls.ts';
import { examplesOf, filledIn, readPage } from '../toolkit/drive/page-examples.ts';
import { revokeEnrollment } from '../toolkit/drive/classroom.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../toolkit/drive/races.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { withoutFeature } from '../toolkit/drive/plans.ts';
import { rowCounts, testDatabase, testDeps } from '../toolkit/stack/database.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

const inHours = (count: number) => new Date(Math.ceil(clock.now().getTime() / hour) * hour + count * hour);

describe('mentorships', () => {
  let club: TestClub;
  let write: ClubCalls;
  let ada: TestStudent;
  beforeEach(async () => {
    club = await buildClub();
    write = callsOf(club);
    ada = await buildStudent(club.id);
  });
  const as =
    ({ token }: { token: string }) =>
    (method: string, path: string, body?: unknown): Promise<Answer> =>
      call(method, `/v1/clubs/${club.id}/classroom${path}`, { token, ...(body !== undefined && { body }) });
  const book = (student: TestStudent, { publicId }: TestMentorship, startsAt: Date, more: object = {}) =>
    as(student)('POST', `/mentorships/${publicId}/bookings`, { starts_at: startsAt.toISOString(), ...more });
  const slots = async (student: TestStudent, { publicId }: TestMentorship, query = ''): Promise<string[]> =>
    (await as(student)('GET', `/mentorships/${publicId}/slots${query}`)).body.data.slots.map(
      (slot: { starts_at: string }) => slot.starts_at,
    );
  const offered = (options: MentorshipOptions = {}) => buildMentorship(club.id, options);
  const at = ({ publicId }: TestMentorship, id: Id) => `/mentorships/${publicId}/sessions/${id}`;

  it('accept each request of docs/how-to/run-mentorships.md in the order of the page', async () => {
    const { id: mentorId } = await buildMember(club.id, 'support');
    const known = new Map([
      ['clubId', club.id],
      ['mentorId', mentorId],
    ]);
    /** The page shows fixed dates, but bookable times depend on the current time. */
    const shownTimes = ['2026-03-02T08:00:00.000Z', '2026-03-09T08:00:00.000Z'];
    let times: string[] = [];
    const bodyOf = (text: string): unknown =>
      JSON.parse(
        filledIn(
          shownTimes.reduce((body, printed, place) => body.replace(printed, times[place] ?? printed), text),
          known,
        ),
      );
    const examples = examplesOf(readPage('docs/how-to/run-mentorships.md'));
    const outcomes: string[] = [];
    for (const { method, path, body } of examples) {
      const token = path.includes('/classroom/') ? ada.token : club.owner.token;
      const answer = await call(method, filledIn(path, known), { token, ...(body && { body: bodyOf(body) }) });
      const data = answer.body?.data;
      if (path.endsWith('/mentorships') && method === 'POST') {
        known.set('mentorshipId', data.id);
        known.set('publicId', data.public_id);
      }
      if (path.endsWith('/slots')) {
        times = data.slots.map((slot: { starts_at: string }) => slot.starts_at);
        const other = await as(ada)('POST', `/mentorships/${known.get('publicId')}/bookings`, { starts_at: times[2] });
        known.set('otherSessionId', other.body.data.id);
      }
      if (path.endsWith('/bookings')) known.set('sessionId', data.id);
      outcomes.push(`${method} ${path} ${answer.status < 300 ? 'accepted' : answer.text}`);
    }
    expect(outcomes).to.deep.equal(examples.map(({ method, path }) => `${method} ${path} accepted`));
    expect(examples).to.have.length.above(12);
    const { body } = await write('GET', '/mentorship-sessions');
    expect(body.data.map(({ status }: { status: string }) => status)).to.deep.equal(['canceled', 'canceled']);
  });

  describe('POST and PATCH /v1/clubs/{clubId}/mentorships', () => {
    const good = (mentorId: Id) => ({
      title: ' Rigging\n clinic ',
      mentor_id: mentorId,
      duration_minutes: 45,
      time_zone: 'Europe/Berlin',
      weekly_hours: [{ weekday: 1, from: '09:00', to: '12:00' }],
    });

    it('creates a draft with the defaults, and changes the given fields (MENT-1)', async () => {
      const { id: mentorId } = await buildMember(club.id, 'support');
      const { status, body } = await write('POST', '/mentorships', good(mentorId));
      expect(status).to.equal(201);
      expect(body.data).to.deep.include({
        public_id: 'rigging-clinic',
        title: 'Rigging clinic',
        status: 'draft',
        delivery_ids: [],
        buffer_minutes: 0,
        notice_minutes: 1_440,
        horizon_days: 30,
        max_upcoming: 1,
        cancel_deadline_minutes: 1_440,
      });
      const { id } = body.data;
      const change = (input: object) => write('PATCH', `/mentorships/${id}`, input);
      const changed = {
        status: 'published',
        meeting_url: 'https://meet.example.com/x',
        exceptions: [{ date: '2026-12-24', hours: [] }],
      };
      expect((await change(changed)).body.data).to.deep.include({ ...changed, title: 'Rigging clinic' });
      expect((await change({ meeting_url: '' })).body.data).to.not.have.property('meeting_url');
      expect((await write('GET', `/mentorships/${id}`)).body.data.published_at).to.be.a('string');
      expect((await write('GET', '/mentorships?status=published')).body.total).to.equal(1);
      expect((await write('GET', '/mentorships?status=draft')).body.total).to.equal(0);
    });

    it('returns 422 for an invalid time zone, hours or address, and 404 for an unknown mentor or delivery', async () => {
      const { id: mentorId } = await buildMember(club.id, 'support');
      const monday = (from: string, to: string) => ({ weekday: 1, from, to });
      const elsewhere = await buildClub();
      const before = await rowCounts();
      await eachCase(
        [
          [{ time_zone: 'Mars/Base' }, 'invalid_request'],
          [{ weekly_hours: [monday('12:00', '09:00')] }, 'invalid_request'],
          [{ weekly_hours: [monday('09:00', '12:00'), monday('11:00', '13:00')] }, 'invalid_request'],
          [{ weekly_hours: [monday('09:00', '25:00')] }, 'invalid_request'],
          [{ exceptions: [{ date: '2026-02-30', hours: [] }] }, 'invalid_request'],
          [{ duration_minutes: 14 }, 'invalid_request'],
          [{ horizon_days: 181 }, 'invalid_request'],
          [{ meeting_url: 'javascript:alert(1)' }, 'invalid_request'],
          [{ mentor_id: elsewhere.owner.id }, 'not_found'],
          [{ delivery_ids: [newId()] }, 'not_found'],
        ] as const,
        async ([more, code]) => expectError(await write('POST', '/mentorships', { ...good(mentorId), ...more }), code),
      );
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('returns 402 feature_not_in_plan if the plan has no mentorships, but keeps bookings (MENT-2)', async () => {
      const { id: mentorId } = await buildMember(club.id, 'support');
      const [draft, mentorship] = [await offered({ status: 'draft' }), await offered()];
      const { id } = (await book(ada, mentorship, inHours(2))).body.data;
      await buildPlan(club.id, 'starter');
      await withoutFeature('community', async () => {
        const before = await rowCounts();
        expectError(await write('POST', '/mentorships', good(mentorId)), 'feature_not_in_plan');
        expectError(await write('PATCH', `/mentorships/${draft.id}`, { status: 'published' }), 'feature_not_in_plan');
        expect(await slots(ada, mentorship)).to.deep.equal([]);
        expectError(await book(ada, mentorship, inHours(5)), 'feature_not_in_plan');
        expect(await rowCounts()).to.deep.equal(before);
        expect((await as(ada)('DELETE', at(mentorship, id))).body.data.status).to.equal('canceled');
      });
      expect((await write('POST', '/mentorships', good(mentorId))).status).to.equal(201);
    });

    it('returns 409 public_id_taken if another mentorship of the club has the public id', async () => {
      const [one, other] = [await offered(), await offered()];
      const change = (id: Id) => write('PATCH', `/mentorships/${id}`, { public_id: 'clinic' });
      expect((await change(one.id)).status).to.equal(200);
      expectError(await change(other.id), 'public_id_taken');
    });
  });

  it('return 409 mentorship_limit_reached for the 501st mentorship of a club, even simultaneously', async () => {
    const { id: mentorId } = await buildMember(club.id, 'support');
    const input = {
      title: 'Clinic',
      mentor_id: mentorId,
      duration_minutes: 45,
      time_zone: 'UTC',
      weekly_hours: [],
    };
    const first = await offered({ mentorId, status: 'archived' });
    await (
      await testDatabase()
    ).query(
      `INSERT INTO mentorships
       SELECT (jsonb_populate_record(mentorship, jsonb_build_object('id', gen_random_uuid(), 'public_id', 'x-' || number))).*
         FROM mentorships AS mentorship, generate_series(1, 498) AS number WHERE id = $1`,
      [first.id],
    );
    const answers = await Promise.all([write('POST', '/mentorships', input), write('POST', '/mentorships', input)]);
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).to.deep.equal([201, 409]);
    const before = await rowCounts();
    expectError(await write('POST', '/mentorships', input), 'mentorship_limit_reached');
    expect(await rowCounts()).to.deep.equal(before);
    const other = await buildClub();
    const theirs = { ...input, mentor_id: (await buildMember(other.id, 'support')).id };
    expect((await callsOf(other)('POST', '/mentorships', theirs)).status).to.equal(201);
  });

  describe('GET …/slots', () => {
    it('lists free slots in UTC, except times when the mentor or the student is busy (MENT-4, MENT-6)', async () => {
      const first = await offered({ bufferMinutes: 30 });
      const second = await offered({ mentorId: first.mentorId, bufferMinutes: 30 });
      const [from, to] = [inHours(1), inHours(4)];
      const query = `?since=${from.toISOString()}&until=${to.toISOString()}`;
      const hours = (...counts: number[]) => counts.map((count) => inHours(count).toISOString());
      expect(await slots(ada, first, query)).to.deep.equal(hours(1, 2, 3));
      await buildSession(second.id, (await buildStudent(club.id)).id, { startsAt: inHours(2) });
      expect(await slots(ada, first, query)).to.deep.equal(hours(1, 3));
      const other = await offered();
      await buildSession(other.id, ada.id, { startsAt: inHours(1) });
      await buildSession(other.id, ada.id, { startsAt: inHours(3), status: 'canceled' });
      expect(await slots(ada, first, query)).to.deep.equal(hours(3));
    });

    it('also lists the slot of the session that the request wants to move (MENT-8)', async () => {
      const mentorship = await offered({ bufferMinutes: 30 });
      const grace = await buildStudent(club.id);
      const own = (await book(ada, mentorship, inHours(2))).body.data.id;
      const hers = (await book(grace, mentorship, inHours(3))).body.data.id;
      const elsewhere = await buildSession((await offered()).id, ada.id, { startsAt: inHours(1) });
      const hours = (...counts: number[]) => counts.map((count) => inHours(count).toISOString());
      const until = `?since=${inHours(0).toISOString()}&until=${inHours(5).toISOString()}`;
      expect(await slots(ada, mentorship, until)).to.deep.equal(hours(0, 4));
      expect(await slots(ada, mentorship, `${until}&replaces=${own}`)).to.deep.equal(hours(0, 2, 4));
      for (const id of [hers, elsewhere.id, newId()])
        expect(await slots(ada, mentorship, `${until}&replaces=${id}`)).to.deep.equal(hours(0, 4));
      expect(await slots(grace, mentorship, `${until}&replaces=${own}`)).to.deep.equal(hours(0, 1, 4));
      expectError(await as(ada)('GET', `/mentorships/${mentorship.publicId}/slots?replaces=none`), 'invalid_request');
    });

    it('lists no slots if the mentorship has no mentor, and returns 422 for a period above 31 days', async () => {
      const mentorship = await offered();
      const read = (query: string) => as(ada)('GET', `/mentorships/${mentorship.publicId}/slots${query}`);
      const later = (days: number) => new Date(inHours(0).getTime() + days * day).toISOString();
      expectError(await read(`?since=${later(0)}&until=${later(32)}`), 'invalid_request');
      expectError(await read(`?since=${later(1)}&until=${later(1)}`), 'invalid_request');
      expect(await slots(ada, mentorship)).to.have.length.above(1_000);
      await write('DELETE', `/members/${mentorship.mentorId}`);
      expect(await slots(ada, mentorship)).to.deep.equal([]);
      expectError(await book(ada, mentorship, inHours(5)), 'invalid_request');
    });
  });

  describe('POST …/bookings', () => {
    it('books the session, and shows the meeting address only in the booking (MENT-6)', async () => {
      const mentorship = await offered({ meetingUrl: 'https://meet.example.com/x' });
      let id = '';
      const runs = await wakesBy(club.id, async () => {
        const { status, body } = await book(ada, mentorship, inHours(2), { agenda: ' My backstay. ' });
        expect(status).to.equal(201);
        id = body.data.id;
      });
      expect(runs).to.deep.equal([workflowIdOf('mentorshipSession', id)]);
      const own = (await as(ada)('GET', at(mentorship, id))).body.data;
      expect(own).to.include({ status: 'booked', agenda: 'My backstay.', meeting_url: 'https://meet.example.com/x' });
      expect(own).to.include({ starts_at: inHours(2).toISOString(), cancel_until: inHours(2).toISOString() });
      const shownMentorship = (await as(ada)('GET', `/mentorships/${mentorship.publicId}`)).body.data;
      expect(shownMentorship).to.not.have.property('meeting_url');
      const [listed] = (await write('GET', `/mentorship-sessions?student_id=${ada.id}`)).body.data;
      expect(listed).to.deep.include({ id, student: { id: ada.id, name: listed.student.name, email: ada.email } });
    });

    it('returns 422 for a time that is past, between two slots, too soon or too far ahead (MENT-5)', async () => {
      const mentorship = await offered({ noticeMinutes: 120, horizonDays: 2 });
      const before = await rowCounts();
      const times = [inHours(-5), new Date(inHours(4).getTime() + 10 * minute), inHours(0), inHours(49)];
      await eachCase(times, async (time) => expectError(await book(ada, mentorship, time), 'invalid_request'));
      expect(await rowCounts()).to.deep.equal(before);
      expect((await book(ada, mentorship, inHours(4))).status).to.equal(201);
    });

    it('returns 422 in every parameter for a time with an offset without minutes, such as +05', async () => {
      const mentorship = await offered();
      const before = await rowCounts();
      const written = `${inHours(1).toISOString().slice(0, 19)}+05`;
      const answers = [
        await as(ada)('POST', `/mentorships/${mentorship.publicId}/bookings`, { starts_at: written }),
        await as(ada)('GET', `/mentorships/${mentorship.publicId}/slots?since=${encodeURIComponent(written)}`),
        await write('GET', `/mentorship-sessions?until=${encodeURIComponent(written)}`),
      ];
      for (const answer of answers) expectError(answer, 'invalid_request');
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('books with the new mentor if the mentor changes while the booking waits for a lock', async () => {
      const mentorship = await offered();
      const { id: successor } = await buildMember(club.id, 'support');
      const startsAt = inHours(1);
      let booking: Promise<Answer> | undefined;
      await withOpenTransaction(
        (tx) => tx.run(sql`UPDATE mentorships SET mentor_id = ${successor} WHERE id = ${mentorship.id}`),
        async () => {
          booking = book(ada, mentorship, startsAt);
          await untilWaitingForLocks(1);
        },
      );
      expect((await booking)?.status).to.equal(201);
      const { body } = await write('GET', `/mentorship-sessions?mentor_id=${successor}`);
      expect(body.total).to.equal(1);
    });

    it('returns 422 for an hour that the clock change skips, and books the first of two equal ones (MENT-4)', async () => {
      const nights = [{ weekday: 7, from: '01:00', to: '04:00' }];
      const hours = { timeZone: 'Europe/Berlin', durationMinutes: 60, horizonDays: 180, weeklyHours: nights };
      const { publicId } = await offered(hours);
      const deps = await testDeps();
      const reader = { clubId: club.id, id: ada.id };
      const slotsBetween = async (from: string, to: string) =>
        (await listSlots(deps.db, reader, publicId, { since: from, until: to }, new Date(from))).slots.map(
          ({ starts_at: time }) => time,
        );
      const berlin = [
        '2027-03-27T00:00:00Z',
        '2027-03-29T00:00:00Z',
        '2027-10-30T00:00:00Z',
        '2027-11-01T00:00:00Z',
      ] as const;
      expect(await slotsBetween(berlin[0], berlin[1])).to.deep.equal([
        '2027-03-28T00:00:00.000Z',
        '2027-03-28T01:00:00.000Z',
      ]);
      expect(await slotsBetween(berlin[2], berlin[3])).to.deep.equal([
        '2027-10-30T23:00:00.000Z',
        '2027-10-31T00:00:00.000Z',
        '2027-10-31T02:00:00.000Z',
      ]);
      const at_ = new Date(berlin[2]);
      const booking = (startsAt: string) =>
        bookSession(deps, reader, publicId, { starts_at: startsAt }, at_).then(
          ({ status }) => status,
          ({ code }: { code: string }) => code,
        );
      expect(await booking('2027-10-31T01:00:00Z')).to.equal('invalid_request');
      expect(await booking('2027-10-31T00:00:00Z')).to.equal('booked');
    });

    it('returns 409 slot_taken if the student or the mentor is busy, or during a buffer (MENT-6)', async () => {
      const first = await offered({ bufferMinutes: 30 });
      const second = await offered({ mentorId: first.mentorId });
      const [grace, else_] = [await buildStudent(club.id), await offered()];
      expect((await book(ada, first, inHours(2))).status).to.equal(201);
      const buffered = new Date(inHours(2).getTime() + 30 * minute);
      expectError(await book(grace, second, buffered), 'slot_taken');
      expectError(await book(ada, else_, inHours(2)), 'slot_taken');
      expect((await book(grace, second, inHours(3))).status).to.equal(201);
      expect((await book(ada, else_, buffered)).status).to.equal(201);
    });

    it('returns 409 booking_limit_reached for too many future sessions that are not canceled (MENT-6)', async () => {
      const mentorship = await offered({ maxUpcoming: 2 });
      const [one] = [await book(ada, mentorship, inHours(2)), await book(ada, mentorship, inHours(3))];
      expectError(await book(ada, mentorship, inHours(4)), 'booking_limit_reached');
      expect((await as(ada)('DELETE', at(mentorship, one.body.data.id))).status).to.equal(200);
      expect((await book(ada, mentorship, inHours(4))).status).to.equal(201);
      expectError(await book(ada, mentorship, inHours(5)), 'booking_limit_reached');
      clock.advance(4 * hour);
      expect((await book(ada, mentorship, inHours(5))).status).to.equal(201);
    });

    it('returns 404 after the access ends or the mentorship is archived, but keeps bookings (MENT-3, MENT-7)', async () => {
      const course = await buildOpenCourse(club.id, { lessons: 1 });
      const learner = await buildLearner(course, ada);
      const mentorship = await offered({ deliveryIds: [course.deliveryId], maxUpcoming: 5 });
      const { id } = (await book(ada, mentorship, inHours(2))).body.data;
      const stranger = await buildStudent(club.id);
      expectError(await as(stranger)('GET', `/mentorships/${mentorship.publicId}`), 'not_found');
      expectError(await book(stranger, mentorship, inHours(3)), 'not_found');
      expect((await as(stranger)('GET', '/mentorships')).body.total).to.equal(0);
      expect((await as(ada)('GET', '/mentorships')).body.total).to.equal(1);
      await revokeEnrollment(course, learner);
      expectError(await book(ada, mentorship, inHours(3)), 'not_found');
      expect((await as(ada)('GET', at(mentorship, id))).body.data.status).to.equal('booked');
      const delivery = await buildAccessDelivery(club.id, { courseId: course.id });
      await buildEnrollment(club.id, {
        studentId: ada.id,
        deliveryId: delivery.id,
        startsAt: new Date(Date.now() - day),
      });
      await write('PATCH', `/mentorships/${mentorship.id}`, { delivery_ids: [delivery.id], weekly_hours: [] });
      expect((await as(ada)('GET', at(mentorship, id))).body.data.status).to.equal('booked');
      await write('PATCH', `/mentorships/${mentorship.id}`, { weekly_hours: allWeek, status: 'archived' });
      expectError(await book(ada, mentorship, inHours(3)), 'not_found');
      expect((await as(ada)('DELETE', at(mentorship, id))).body.data.status).to.equal('canceled');
    });

    it('accepts one of 200 simultaneous bookings, and returns slot_taken for the other 199 (MENT-6)', async function () {
      this.timeout(30_000);
      const source = await testDatabase();
      const first = await offered();
      const second = await offered({ mentorId: first.mentorId });
      const students = await source.query<{ id: Id }[]>(
        `INSERT INTO students (id, club_id, name, email, verified_at, created_at, opened_by)
         SELECT gen_random_uuid(), $1::uuid, 'S', number || '-' || $1::text || '@example.com', now(), now(), 'club'
           FROM generate_series(1, 200) AS number RETURNING id`,
        [club.id],
      );
      const deps = await testDeps();
      const startsAt = inHours(2).toISOString();
      const outcomes = await Promise.all(
        students.map(({ id }, place) =>
          bookSession(
            deps,
            { clubId: club.id, id },
            (place % 2 === 0 ? first : second).publicId,
            { starts_at: startsAt },
            clock.now(),
          ).then(
            () => 'booked',
            (error: { code: string }) => error.code,
          ),
        ),
      );
      expect(outcomes.filter((outcome) => outcome === 'booked')).to.have.length(1);
      expect(outcomes.filter((outcome) => outcome === 'slot_taken')).to.have.length(199);
    });
  });

  describe('a booking with `replaces`', () => {
    it('moves the session, even if the student is at the limit, or the old and new times overlap (MENT-8)', async () => {
      const mentorship = await offered({ durationMinutes: 60, bufferMinutes: 0 });
      const { id } = (await book(ada, mentorship, inHours(2), { agenda: 'Knots' })).body.data;
      const moved = (await book(ada, mentorship, inHours(5), { replaces: id })).body.data;
      expect(moved).to.include({ id, starts_at: inHours(5).toISOString(), agenda: 'Knots', status: 'booked' });
      expect((await book(ada, mentorship, inHours(5), { replaces: id })).status).to.equal(201);
      expect((await as(ada)('GET', '/mentorship-sessions')).body.total).to.equal(1);
      expect((await book(await buildStudent(club.id), mentorship, inHours(2))).status).to.equal(201);
    });

    it('does not move the session to an unavailable or taken time, or after the deadline', async () => {
      const mentorship = await offered({ cancelDeadlineMinutes: 60 });
      const { id } = (await book(ada, mentorship, inHours(3))).body.data;
      const grace = await buildStudent(club.id);
      const other = (await book(grace, mentorship, inHours(4))).body.data;
      const move = (time: Date, replaces: Id) => book(ada, mentorship, time, { replaces });
      expectError(await move(inHours(4), id), 'slot_taken');
      expectError(await move(new Date(inHours(4).getTime() + minute), id), 'invalid_request');
      expectError(await move(inHours(5), other.id), 'not_found');
      expectError(await move(inHours(5), newId()), 'not_found');
      clock.advance(inHours(2).getTime() + minute - clock.now().getTime());
      expectError(await move(inHours(5), id), 'too_late_to_cancel');
      const [remaining] = (await as(ada)('GET', '/mentorship-sessions')).body.data;
      expect(remaining).to.include({ id, status: 'booked' });
    });
  });

  describe('DELETE …/sessions/{sessionId}', () => {
    it('cancels a session, even if repeated, but returns 409 after the deadline (MENT-8)', async () => {
      const mentorship = await offered({ cancelDeadlineMinutes: 60, maxUpcoming: 2 });
      const [first, second] = [await book(ada, mentorship, inHours(3)), await book(ada, mentorship, inHours(4))];
      const cancel = (student: TestStudent, id: Id) => as(student)('DELETE', at(mentorship, id));
      const [one, two] = [first.body.data.id, second.body.data.id];
      expectError(await cancel(await buildStudent(club.id), one), 'not_found');
      const answer = await cancel(ada, one);
      expect(answer.body.data).to.include({ status: 'canceled', canceled_by: 'student' });
      expect(await wakesBy(club.id, async () => void (await cancel(ada, one)))).to.deep.equal([]);
      clock.advance(inHours(3).getTime() + minute - clock.now().getTime());
      expect((await cancel(ada, one)).body.data).to.deep.equal(answer.body.data);
      expectError(await cancel(ada, two), 'too_late_to_cancel');
      expectError(await book(ada, mentorship, inHours(9), { replaces: one }), 'session_state');
    });

    it('returns 429 rate_limited after 30 bookings and cancelations in an hour (LIM-10)', async () => {
      const mentorship = await offered({ maxUpcoming: 1 });
      const answers: number[] = [];
      for (let turn = 0; turn < 15; turn++) {
        const { status, body } = await book(ada, mentorship, inHours(2));
        answers.push(status, (await as(ada)('DELETE', at(mentorship, body.data.id))).status);
      }
      expect(answers).to.deep.equal(Array.from({ length: 15 }, () => [201, 200]).flat());
      expectError(await book(ada, mentorship, inHours(2)), 'rate_limited');
      expect((await book(await buildStudent(club.id), mentorship, inHours(2))).status).to.equal(201);
    });
  });

  describe('agenda, rating, no-show and cancellation by the club', () => {
    it('are accepted before the session (agenda) or after the session (no-show, rating) (MENT-9, MENT-10)', async () => {
      const mentorship = await offered();
      const { id } = (await book(ada, mentorship, inHours(2))).body.data;
      const path = at(mentorship, id);
      const agenda = () => as(ada)('PUT', `${path}/agenda`, { agenda: 'Splices' });
      const rate = (rating: number) => as(ada)('PUT', `${path}/rating`, { rating, comment: 'Good.' });
      const noShow = (method: string) => write(method, `/mentorship-sessions/${id}/no-show`);
      expect((await agenda()).body.data.agenda).to.equal('Splices');
      expectError(await rate(5), 'session_state');
      expectError(await noShow('PUT'), 'session_state');
      clock.advance(4 * hour);
      expectError(await agenda(), 'session_state');
      expect((await as(ada)('GET', path)).body.data.status).to.equal('completed');
      expect((await as(ada)('GET', '/mentorship-sessions?status=completed')).body.total).to.equal(1);
      expect((await rate(4)).body.data).to.include({ rating: 4, rating_comment: 'Good.' });
      expect((await rate(5)).body.data.rating).to.equal(5);
      expect((await noShow('PUT')).body.data.status).to.equal('no_show');
      expect((await noShow('PUT')).body.data.status).to.equal('no_show');
      expectError(await rate(1), 'session_state');
      expect((await noShow('DELETE')).body.data.status).to.equal('completed');
      const lateBy = async (days: number) => {
        const late = new Date(inHours(-2).getTime() + days * day);
        const named = { publicId: mentorship.publicId, sessionId: id };
        return rateSession(await testDeps(), { clubId: club.id, id: ada.id }, named, { rating: 1 }, late).then(
          ({ rating }) => rating,
          ({ code }: { code: string }) => code,
        );
      };
      expect([await lateBy(29), await lateBy(31)]).to.deep.equal([1, 'session_state']);
    });

    it('are refused after the start of the session (agenda) or 30 days after its end (rating) (MENT-10)', async () => {
      const mentorship = await offered();
      const { id } = (await book(ada, mentorship, inHours(2))).body.data;
      const deps = await testDeps();
      const named = { publicId: mentorship.publicId, sessionId: id };
      const reader = { clubId: club.id, id: ada.id };
      const outcome = (act: Promise<unknown>) =>
        act.then(
          () => 'done',
          ({ code }: { code: string }) => code,
        );
      const [begins, ends] = [inHours(2).getTime(), inHours(2).getTime() + 30 * minute];
      const agenda = (time: number) => outcome(setAgenda(deps, reader, named, 'Knots', new Date(time)));
      const rating = (time: number) => outcome(rateSession(deps, reader, named, { rating: 3 }, new Date(time)));
      expect([await agenda(begins - 1), await agenda(begins)]).to.deep.equal(['done', 'session_state']);
      expect([await rating(ends - 1), await rating(ends)]).to.deep.equal(['session_state', 'done']);
      expect([await rating(ends + 30 * day), await rating(ends + 30 * day + 1)]).to.deep.equal([
        'done',
        'session_state',
      ]);
    });

    it('let the club cancel a future session once, with a reason (MENT-8)', async () => {
      const mentorship = await offered({ maxUpcoming: 2, cancelDeadlineMinutes: 1_440 });
      const [first, second] = [await book(ada, mentorship, inHours(2)), await book(ada, mentorship, inHours(3))];
      const cancel = (id: Id, reason: string) => write('POST', `/mentorship-sessions/${id}/cancel`, { reason });
      const canceled = (await cancel(first.body.data.id, ' Ill. ')).body.data;
      expect(canceled).to.include({ status: 'canceled', canceled_by: 'club', cancel_reason: 'Ill.' });
      expect((await cancel(canceled.id, 'Again')).body.data).to.deep.equal(canceled);
      expect((await as(ada)('GET', at(mentorship, canceled.id))).body.data.cancel_reason).to.equal('Ill.');
      expect(
        await slots(ada, mentorship, `?since=${inHours(2).toISOString()}&until=${inHours(3).toISOString()}`),
      ).to.have.length(2);
      clock.advance(5 * hour);
      expectError(await cancel(second.body.data.id, 'Late'), 'session_state');
    });

    it('appear in a list of sessions, filtered by time, mentorship, mentor or status, in order of start', async () => {
      const [one, two] = [await offered({ maxUpcoming: 5 }), await offered({ maxUpcoming: 5 })];
      const ids: Id[] = [];
      for (const [mentorship, hours] of [
        [one, 3],
        [two, 2],
        [one, 4],
      ] as const)
        ids.push((await book(ada, mentorship, inHours(hours))).body.data.id);
      const listed = async (query: string) =>
        (await write('GET', `/mentorship-sessions?${query}`)).body.data.map(({ id }: { id: Id }) => id);
      const [first, second, third] = ids;
      expect(await listed('')).to.deep.equal([second, first, third]);
      expect(await listed(`mentorship_id=${one.id}`)).to.deep.equal([first, third]);
      expect(await listed(`mentor_id=${two.mentorId}`)).to.deep.equal([second]);
      expect(await listed(`since=${inHours(3).toISOString()}&until=${inHours(4).toISOString()}`)).to.deep.equal([
        first,
      ]);
      expect(await listed('status=canceled')).to.deep.equal([]);
    });
  });

  describe('the removal of a student', () => {
    it('cancels future sessions, and erases agenda and rating of all sessions (MENT-12)', async () => {
      const mentorship = await offered({ maxUpcoming: 2 });
      const [past, coming] = [
        await book(ada, mentorship, inHours(1), { agenda: 'Knots' }),
        await book(ada, mentorship, inHours(90), { agenda: 'More' }),
      ];
      clock.advance(5 * hour);
      await as(ada)('PUT', `${at(mentorship, past.body.data.id)}/rating`, { rating: 2, comment: 'Poor Ada' });
      const runs = await wakesBy(club.id, async () => {
        expect((await write('DELETE', `/students/${ada.id}`)).status).to.equal(204);
      });
      expect(runs).to.include(workflowIdOf('mentorshipSession', coming.body.data.id));
      const read = async ({ body }: Answer) => (await write('GET', `/mentorship-sessions/${body.data.id}`)).body.data;
      const erasedFields = ['student', 'agenda', 'rating', 'rating_comment', 'rated_at'];
      expect(await read(past))
        .to.include({ status: 'completed' })
        .and.to.not.have.any.keys(...erasedFields);
      expect(await read(coming))
        .to.include({ status: 'canceled' })
        .and.to.not.have.any.keys(...erasedFields);
    });
  });
});
