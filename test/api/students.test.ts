import { expect } from 'chai';
import { newId, type Id } from '../../domain/core/ids.ts';
import { buildClub, buildStudent, password, type TestClub } from '../toolkit/builders/clubs.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { factsOf, mailsTo, rowCounts } from '../toolkit/stack/database.ts';
import { mailedToken, openFurtherSession } from '../toolkit/builders/sessions.ts';
import { studentAccounts } from '../toolkit/drive/accounts.ts';

const someone = () => `${newId()}@example.com`;
const studentPath = (club: TestClub, id: Id) => `/v1/clubs/${club.id}/students/${id}`;
const create = (club: TestClub, body: object) =>
  call('POST', `/v1/clubs/${club.id}/students`, { token: club.owner.token, body });
const read = (club: TestClub, id: Id) => call('GET', studentPath(club, id), { token: club.owner.token });
const correct = (club: TestClub, id: Id, body: object) =>
  call('PATCH', studentPath(club, id), { token: club.owner.token, body });
const whoAmI = (token: string) => call('GET', '/v1/auth/session', { token });

let club: TestClub;

describe('POST /v1/clubs/{clubId}/students', () => {
  beforeEach(async () => {
    club = await buildClub();
  });

  describe('201', () => {
    it('creates the student, unconfirmed and without a password: the whole record', async () => {
      const email = someone();
      const { status, body } = await create(club, { name: '  Ada   Example ', email: email.toUpperCase() });
      expect(status).to.equal(201);
      const { id, created_at: createdAt, club_slug: slug } = body.data;
      expect(body.data).to.deep.equal({
        id,
        name: 'Ada Example',
        email,
        verified: false,
        has_password: false,
        created_at: createdAt,
        club_id: club.id,
        club_slug: slug,
      });
      expect((await read(club, id)).body).to.deep.equal(body);
    });

    it('one student.created, and one invitation to confirm the e-mail', async () => {
      const { body } = await create(club, { name: 'Ada', email: someone() });
      expect(await factsOf(club.id)).to.deep.equal([{ type: 'student.created', studentId: body.data.id }]);
      expect(await mailsTo(body.data.id)).to.deep.equal(['student_invitation']);
    });

    it('the bounds of a name: 1 and 120 characters, counted as people count them', async () => {
      for (const name of ['A', 'a'.repeat(120), '🎓'.repeat(120)]) {
        const { status, body } = await create(club, { name, email: someone() });
        expect([status, body.data?.name]).to.deep.equal([201, name]);
      }
      for (const name of ['', ' ', '\u00a0\u2003', 'a'.repeat(121)]) {
        expectError(await create(club, { name, email: someone() }), 'invalid_request');
      }
    });
  });

  describe('409', () => {
    it('email_taken, in any case; nothing is written', async () => {
      const { email } = await buildStudent(club.id);
      const before = await rowCounts();
      for (const taken of [email, email.toUpperCase()]) {
        expectError(await create(club, { name: 'Ada', email: taken }), 'email_taken');
      }
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('email_taken: two at once with one e-mail: one student, one fact', async () => {
      const email = someone();
      const answers = await Promise.all([1, 2, 3, 4].map(() => create(club, { name: 'Ada', email })));
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([201, 409, 409, 409]);
      expect(await factsOf(club.id)).to.have.length(1);
    });
  });
});

describe('GET /v1/clubs/{clubId}/students/{studentId}', () => {
  beforeEach(async () => {
    club = await buildClub();
  });

  it('200: reads a student of the club, in either spelling of the id', async () => {
    const student = await buildStudent(club.id);
    for (const id of [student.id, student.id.toUpperCase()]) {
      const { status, body } = await read(club, id);
      expect(status).to.equal(200);
      expect(body.data).to.include({ id: student.id, email: student.email, club_id: club.id });
    }
  });

  it('404: an unknown id, a student of another club, a removed student: all alike', async () => {
    const foreign = await buildStudent((await buildClub()).id);
    const removed = await buildStudent(club.id);
    await call('DELETE', studentPath(club, removed.id), { token: club.owner.token });
    const answers = [await read(club, newId()), await read(club, foreign.id), await read(club, removed.id)];
    for (const answer of answers) expectError(answer, 'not_found');
    expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
  });

  it('422: an id that is no uuid', async () => {
    for (const id of ['1', 'null', `${newId()}0`, "'--", '%00', '%F0%9F%8E%93']) {
      expectError(await read(club, id), 'invalid_request');
    }
  });
});

describe('PATCH /v1/clubs/{clubId}/students/{studentId}', () => {
  beforeEach(async () => {
    club = await buildClub();
  });

  describe('200', () => {
    it('corrects the name: one student.updated; session, password and confirmation stay', async () => {
      const student = await buildStudent(club.id);
      const before = (await read(club, student.id)).body.data;
      const { status, body } = await correct(club, student.id, { name: ' Stella  Corrected ' });
      expect(status).to.equal(200);
      expect(body.data).to.deep.equal({ ...before, name: 'Stella Corrected' });
      expect(await factsOf(club.id)).to.deep.equal([{ type: 'student.updated', studentId: student.id }]);
      expect(await mailsTo(student.id)).to.deep.equal([]);
      expect((await whoAmI(student.token)).body.data.name).to.equal('Stella Corrected');
    });

    it('name and e-mail in one correction: one student.updated', async () => {
      const student = await buildStudent(club.id);
      await correct(club, student.id, { name: 'New Name', email: someone() });
      expect((await factsOf(club.id)).map(({ type }) => type)).to.deep.equal(['student.updated']);
    });

    it('a correction that changes nothing is no fact, and ends nothing', async () => {
      const student = await buildStudent(club.id);
      const before = await rowCounts();
      const bodies = [
        { name: 'Stella Student' },
        { name: ' Stella   Student ' },
        { email: student.email },
        { email: student.email.toUpperCase(), name: 'Stella Student' },
      ];
      for (const body of bodies) {
        const answer = await correct(club, student.id, body);
        expect(answer.body.data).to.include({ name: 'Stella Student', email: student.email, verified: true });
      }
      expect(await rowCounts()).to.deep.equal(before);
      expect((await whoAmI(student.token)).status).to.equal(200);
    });

    it('a changed e-mail is unconfirmed: the password, sessions and mailed tokens end, and a confirmation goes to the new address', async () => {
      const students = studentAccounts(club.id);
      const student = await buildStudent(club.id);
      const elsewhere = await openFurtherSession('student', student.id);
      await students.requestReset(student.email);
      const reset = await mailedToken('student_reset_password', student.id);
      const email = someone();

      const { body } = await correct(club, student.id, { email: email.toUpperCase() });
      expect(body.data).to.include({ email, verified: false, has_password: false });
      for (const token of [student.token, elsewhere]) expectError(await whoAmI(token), 'unauthenticated');
      expectError(await students.confirmReset(reset, 'a newly chosen phrase'), 'token_gone');
      // The password may be a stranger's, who had the address by mistake: it opens nothing at the new one.
      for (const one of [email, student.email])
        expectError(await students.signIn(one, password), 'invalid_credentials');

      expect((await mailsTo(student.id)).at(-1)).to.equal('student_verify_email');
      const confirmed = await students.verify(await mailedToken('student_verify_email', student.id));
      expect(confirmed.body.data.student).to.include({ id: student.id, email, verified: true });
      expectError(await students.signIn(email, password), 'invalid_credentials');
    });

    it('the e-mail of a removed student is free again', async () => {
      const [gone, student] = [await buildStudent(club.id), await buildStudent(club.id)];
      await call('DELETE', studentPath(club, gone.id), { token: club.owner.token });
      expect((await correct(club, student.id, { email: gone.email })).status).to.equal(200);
    });
  });

  describe('404', () => {
    it('an unknown student, one of another club, a removed one', async () => {
      const foreign = await buildStudent((await buildClub()).id);
      const removed = await buildStudent(club.id);
      await call('DELETE', studentPath(club, removed.id), { token: club.owner.token });
      for (const id of [newId(), foreign.id, removed.id]) {
        expectError(await correct(club, id, { name: 'Ada' }), 'not_found');
      }
    });
  });

  describe('409', () => {
    it('email_taken: nothing is changed, not even the name that came along', async () => {
      const [student, other] = [await buildStudent(club.id), await buildStudent(club.id)];
      const before = [await rowCounts(), (await read(club, student.id)).body];
      expectError(await correct(club, student.id, { name: 'New', email: other.email.toUpperCase() }), 'email_taken');
      expect([await rowCounts(), (await read(club, student.id)).body]).to.deep.equal(before);
      expect((await whoAmI(student.token)).status).to.equal(200);
    });

    it('email_taken: two students corrected to one e-mail at once: exactly one succeeds', async () => {
      const [one, two] = [await buildStudent(club.id), await buildStudent(club.id)];
      const email = someone();
      const answers = await Promise.all([correct(club, one.id, { email }), correct(club, two.id, { email })]);
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([200, 409]);
      expect(await factsOf(club.id)).to.have.length(1);
    });

    it('the same e-mail in another club is not taken', async () => {
      const student = await buildStudent(club.id);
      const { email } = await buildStudent((await buildClub()).id);
      expect((await correct(club, student.id, { email })).status).to.equal(200);
    });
  });

  it('422: a correction of nothing', async () => {
    const student = await buildStudent(club.id);
    expectError(await correct(club, student.id, {}), 'invalid_request');
  });
});
