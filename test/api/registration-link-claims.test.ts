import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { factRecordsOf } from '../toolkit/assert/facts.ts';
import { buildAccessDelivery, type TestAccessDelivery } from '../toolkit/builders/access.ts';
import { buildClub, buildStudent, password, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import { buildCohort, buildCourse } from '../toolkit/builders/courses.ts';
import { call, clock, expectError, visible } from '../toolkit/drive/api.ts';
import { callsOf, type ClubCalls } from '../toolkit/drive/club-calls.ts';
import { factsOf, mailsTo, rowCounts, testDatabase } from '../toolkit/stack/database.ts';

const hourMs = 3_600_000;
const inOneHour = () => new Date(Date.now() + hourMs).toISOString();

describe('claims of registration links', () => {
  let club: TestClub;
  let send: ClubCalls;
  let deliveries: TestAccessDelivery[];
  beforeEach(async () => {
    club = await buildClub();
    send = callsOf(club);
    deliveries = [await buildAccessDelivery(club.id), await buildAccessDelivery(club.id)];
  });
  const link = async (body: object = {}): Promise<{ id: Id; code: string }> => {
    const good = { name: 'Open day', code: `Open-${newId().slice(-12)}`, delivery_ids: deliveries.map(({ id }) => id) };
    return (await send('POST', '/registration-links', { ...good, ...body })).body.data;
  };
  const usesOf = async ({ id }: { id: Id }) => (await send('GET', `/registration-links/${id}`)).body.data.uses;
  const claim = (student: Pick<TestStudent, 'token'>, code: string) =>
    call('POST', `/v1/clubs/${club.id}/classroom/registration-links/${code}/claim`, { token: student.token });
  const types = async () => (await factsOf(club.id)).map(({ type }) => type);

  describe('POST …/classroom/registration-links/{code}/claim', () => {
    it('creates one enrollment and one access.granted fact per delivery, and counts one use of the link', async () => {
      const [student, one] = [await buildStudent(club.id), await link()];
      const { status, body } = await claim(student, one.code);
      const { data: record } = (await send('GET', '/registration-links')).body;
      expect(status).to.equal(200);
      expect(body.data.name).to.equal('Open day');
      expect(body.data.club_name).to.match(/^Club /);
      expect(body.data.deliveries).to.deep.equal(deliveries.map(({ name }) => name));
      expect(record[0].uses).to.equal(1);
      const enrollments = (await send('GET', `/enrollments?student_id=${student.id}`)).body.data;
      expect(enrollments.map((enrollment: { source: string }) => enrollment.source)).to.deep.equal([
        'registration_link',
        'registration_link',
      ]);
      const facts = await factRecordsOf(club.id);
      expect(facts.map(({ type, studentId }) => [type, studentId])).to.deep.equal([
        ['access.granted', student.id],
        ['access.granted', student.id],
      ]);
      expect(facts.map(({ subjectId }) => subjectId)).to.have.members(enrollments.map(({ id }: { id: Id }) => id));
    });

    it('accepts the code in any letter case', async () => {
      const one = await link();
      await eachCase([one.code.toUpperCase(), one.code.toLowerCase()], async (code) =>
        expect((await claim(await buildStudent(club.id), code)).status).to.equal(200),
      );
      expect(await usesOf(one)).to.equal(2);
    });

    it('returns the first answer again, even after the link was changed', async () => {
      const [student, one] = [await buildStudent(club.id), await link({ max_uses: 1 })];
      const first = await claim(student, one.code);
      const again = async () => expect((await claim(student, one.code)).text).to.equal(first.text);
      await again();
      await send('PATCH', `/registration-links/${one.id}`, { delivery_ids: [deliveries[0]?.id] });
      await again();
      await send('POST', `/deliveries/${deliveries[0]?.id}/archive`);
      await again();
      await send('POST', `/registration-links/${one.id}/revoke`);
      await again();
      expect(await usesOf(one)).to.equal(1);
      expect(await types()).to.deep.equal(['access.granted', 'access.granted']);
    });

    it('does not restore a revoked enrollment if the claim is repeated', async () => {
      const [student, one] = [await buildStudent(club.id), await link()];
      await claim(student, one.code);
      const { data } = (await send('GET', `/enrollments?student_id=${student.id}`)).body;
      await send('POST', `/enrollments/${data[0].id}/revoke`);
      await claim(student, one.code);
      expect((await send('GET', `/enrollments?student_id=${student.id}&revoked=false`)).body.total).to.equal(1);
    });

    it('counts a use, but raises no fact for a delivery that the student already has', async () => {
      const [student, one] = [await buildStudent(club.id), await link()];
      await send('POST', '/enrollments', { student_id: student.id, delivery_id: deliveries[0]?.id });
      const { body } = await claim(student, one.code);
      expect(body.data.deliveries).to.have.length(2);
      expect(await types()).to.deep.equal(['access.granted', 'access.granted']);
      expect(await usesOf(one)).to.equal(1);
    });

    it('omits archived deliveries and ended cohorts, and returns 404 if none remains', async () => {
      const course = await buildCourse(club.id);
      const over = await buildCohort(club.id, course.id, { endsAt: new Date(Date.now() - hourMs) });
      const ended = await buildAccessDelivery(club.id, { courseId: course.id, cohortId: over.id });
      const one = await link({ delivery_ids: [...deliveries.map(({ id }) => id), ended.id] });
      await send('POST', `/deliveries/${deliveries[0]?.id}/archive`);
      const { body } = await claim(await buildStudent(club.id), one.code);
      expect(body.data.deliveries).to.deep.equal([deliveries[1]?.name]);
      await send('POST', `/deliveries/${deliveries[1]?.id}/archive`);
      expectError(await claim(await buildStudent(club.id), one.code), 'not_found');
      expect(await usesOf(one)).to.equal(1);
    });

    it('returns 404 with the same bytes for every unknown, expired or revoked code, and writes nothing', async () => {
      const student = await buildStudent(club.id);
      const [expired, revoked] = [await link({ expires_at: inOneHour(), max_uses: 1 }), await link()];
      await claim(await buildStudent(club.id), expired.code);
      await send('POST', `/registration-links/${revoked.id}/revoke`);
      const elsewhere = await buildClub();
      const foreign = { name: 'x', code: 'elsewhere', delivery_ids: [(await buildAccessDelivery(elsewhere.id)).id] };
      await callsOf(elsewhere)('POST', '/registration-links', foreign);
      clock.advance(hourMs);
      const before = await rowCounts();
      const codes = ['unknown', expired.code, revoked.code, 'elsewhere', '%E2%84%AA', '..'.padEnd(3, 'x')];
      const answers = await Promise.all(codes.map((code) => claim(student, code)));
      await eachCase(answers, (answer) => expectError(answer, 'not_found'));
      expect(new Set(answers.map(visible)).size).to.equal(1);
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('returns 409 registration_link_used_up after the last use, until the limit of uses is raised', async () => {
      const one = await link({ max_uses: 1 });
      await claim(await buildStudent(club.id), one.code);
      const late = await buildStudent(club.id);
      const before = await rowCounts();
      expectError(await claim(late, one.code), 'registration_link_used_up');
      expect(await rowCounts()).to.deep.equal(before);
      await send('PATCH', `/registration-links/${one.id}`, { max_uses: 2 });
      expect((await claim(late, one.code)).status).to.equal(200);
    });

    it('admits exactly 5 of 20 simultaneous students to a link with 5 uses', async () => {
      const one = await link({ max_uses: 5 });
      const students = await Promise.all(Array.from({ length: 20 }, () => buildStudent(club.id)));
      const answers = await Promise.all(students.map((student) => claim(student, one.code)));
      const winners = students.filter((_, index) => answers[index]?.status === 200);
      expect(winners).to.have.length(5);
      await eachCase(answers, (answer) => {
        if (answer.status !== 200) expectError(answer, 'registration_link_used_up');
      });
      expect(await usesOf(one)).to.equal(5);
      const facts = await factsOf(club.id);
      expect(facts).to.have.length(10);
      expect(new Set(facts.map(({ studentId }) => studentId))).to.deep.equal(new Set(winners.map(({ id }) => id)));
    });

    it('counts one use for ten simultaneous claims of one student', async () => {
      const [student, one] = [await buildStudent(club.id), await link({ max_uses: 1 })];
      const answers = await Promise.all(Array.from({ length: 10 }, () => claim(student, one.code)));
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).to.equal(1);
      expect(answers[0]?.status).to.equal(200);
      expect(await usesOf(one)).to.equal(1);
      expect(await types()).to.have.length(2);
    });
  });

  describe('POST …/classroom/sign-up with a registration_code', () => {
    const signUp = (code: string, email = `${newId()}@example.com`) =>
      call('POST', `/v1/clubs/${club.id}/classroom/sign-up`, {
        body: { name: 'Ada', email, password, registration_code: code },
      });
    const idOf = async (email: string): Promise<Id> => {
      const source = await testDatabase();
      const [row] = await source.query<{ id: Id }[]>(`SELECT id FROM students WHERE club_id = $1 AND email = $2`, [
        club.id,
        email,
      ]);
      return row?.id ?? '';
    };

    it('creates the student, grants the free deliveries and the link’s, and counts one use', async () => {
      await buildAccessDelivery(club.id, { free: true });
      const [one, email] = [await link(), `${newId()}@example.com`];
      expect((await signUp(one.code.toUpperCase(), email)).status).to.equal(202);
      const { data } = (await send('GET', `/enrollments?student_id=${await idOf(email)}`)).body;
      expect(data.map(({ source }: { source: string }) => source)).to.have.members([
        'free',
        'registration_link',
        'registration_link',
      ]);
      expect(await types()).to.deep.equal(['student.created', ...Array.from({ length: 3 }, () => 'access.granted')]);
      expect(await usesOf(one)).to.equal(1);
    });

    it('refuses an invalid code with the same answer for known and unknown e-mails', async () => {
      const [expired, revoked, spent] = [
        await link({ expires_at: inOneHour() }),
        await link(),
        await link({ max_uses: 1 }),
      ];
      await send('POST', `/registration-links/${revoked.id}/revoke`);
      await claim(await buildStudent(club.id), spent.code);
      const known = await buildStudent(club.id);
      clock.advance(hourMs);
      const before = await rowCounts();
      await eachCase(
        [
          ['unknown', 'not_found'],
          [expired.code, 'not_found'],
          [revoked.code, 'not_found'],
          [spent.code, 'registration_link_used_up'],
        ] as const,
        async ([code, refusal]) => {
          const answers = [await signUp(code), await signUp(code, known.email)];
          await eachCase(answers, (answer) => expectError(answer, refusal));
          expect(new Set(answers.map(visible)).size).to.equal(1);
        },
      );
      expect(await rowCounts()).to.deep.equal(before);
      expect(await mailsTo(known.id)).to.deep.equal([]);
    });

    it('grants nothing to a known e-mail, but returns the same answer as for an unknown e-mail', async () => {
      const [known, one] = [await buildStudent(club.id), await link()];
      const answers = [await signUp(one.code, known.email), await signUp(one.code)];
      expect(new Set(answers.map(visible)).size).to.equal(1);
      expect(await usesOf(one)).to.equal(1);
      expect((await send('GET', `/enrollments?student_id=${known.id}`)).body.total).to.equal(0);
    });

    it('creates 3 accounts and no other row for ten simultaneous sign-ups if the link has 3 uses', async () => {
      const one = await link({ max_uses: 3 });
      const answers = await Promise.all(Array.from({ length: 10 }, () => signUp(one.code)));
      expect(answers.filter(({ status }) => status === 202)).to.have.length(3);
      await eachCase(answers, (answer) => {
        if (answer.status !== 202) expectError(answer, 'registration_link_used_up');
      });
      expect((await send('GET', '/students')).body.total).to.equal(3);
      expect((await types()).toSorted()).to.deep.equal([
        ...Array.from({ length: 6 }, () => 'access.granted'),
        ...Array.from({ length: 3 }, () => 'student.created'),
      ]);
    });
  });
});
