import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, buildMember, buildStudent, password, type TestClub } from '../toolkit/builders/clubs.ts';
import { mailedToken, openFurtherSession } from '../toolkit/builders/sessions.ts';
import { studentAccounts } from '../toolkit/drive/accounts.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { factsOf, mailsTo, rowCounts, withAuditEntries } from '../toolkit/stack/database.ts';

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
    it('creates an unconfirmed student without a password, and returns the complete record', async () => {
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

    it('raises one student.created fact and mails one invitation', async () => {
      const { body } = await create(club, { name: 'Ada', email: someone() });
      expect(await factsOf(club.id)).to.deep.equal([{ type: 'student.created', studentId: body.data.id }]);
      expect(await mailsTo(body.data.id)).to.deep.equal(['student_invitation']);
    });

    it('accepts a name of 1 to 120 characters, and refuses a blank name', async () => {
      await eachCase(['A', 'a'.repeat(120), '🎓'.repeat(120)], async (name) => {
        const { status, body } = await create(club, { name, email: someone() });
        expect([status, body.data?.name]).to.deep.equal([201, name]);
      });
      await eachCase(['', ' ', '\u00a0\u2003', 'a'.repeat(121)], async (name) =>
        expectError(await create(club, { name, email: someone() }), 'invalid_request'),
      );
    });
  });

  describe('409', () => {
    it('returns email_taken for a taken e-mail in any letter case, and writes nothing', async () => {
      const { email } = await buildStudent(club.id);
      const before = await rowCounts();
      await eachCase([email, email.toUpperCase()], async (spelling) =>
        expectError(await create(club, { name: 'Ada', email: spelling }), 'email_taken'),
      );
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('is returned with email_taken to three of four simultaneous requests with one e-mail', async () => {
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

  it('returns a student of the club, even if the id is in upper case', async () => {
    const student = await buildStudent(club.id);
    await eachCase([student.id, student.id.toUpperCase()], async (id) => {
      const { status, body } = await read(club, id);
      expect(status).to.equal(200);
      expect(body.data).to.include({ id: student.id, email: student.email, club_id: club.id });
    });
  });

  it('returns the same 404 text for a student who is unknown, removed or of another club', async () => {
    const foreign = await buildStudent((await buildClub()).id);
    const removed = await buildStudent(club.id);
    await call('DELETE', studentPath(club, removed.id), { token: club.owner.token });
    const answers = [await read(club, newId()), await read(club, foreign.id), await read(club, removed.id)];
    await eachCase(answers, (answer) => expectError(answer, 'not_found'));
    expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
  });

  it('returns 422 for a malformed id', async () => {
    await eachCase(['1', 'null', `${newId()}0`, "'--", '%00', '%F0%9F%8E%93'], async (id) =>
      expectError(await read(club, id), 'invalid_request'),
    );
  });
});

describe('PATCH /v1/clubs/{clubId}/students/{studentId}', () => {
  beforeEach(async () => {
    club = await buildClub();
  });

  describe('200', () => {
    it('changes the name with one student.updated fact, but not the session, password or confirmation', async () => {
      const student = await buildStudent(club.id);
      const before = (await read(club, student.id)).body.data;
      const { status, body } = await correct(club, student.id, { name: ' Stella  Corrected ' });
      expect(status).to.equal(200);
      expect(body.data).to.deep.equal({ ...before, name: 'Stella Corrected' });
      expect(await factsOf(club.id)).to.deep.equal([{ type: 'student.updated', studentId: student.id }]);
      expect(await mailsTo(student.id)).to.deep.equal([]);
      expect((await whoAmI(student.token)).body.data.name).to.equal('Stella Corrected');
    });

    it('raises one student.updated fact if name and e-mail change together', async () => {
      const student = await buildStudent(club.id);
      await correct(club, student.id, { name: 'New Name', email: someone() });
      expect((await factsOf(club.id)).map(({ type }) => type)).to.deep.equal(['student.updated']);
    });

    it('raises no fact and ends no session if nothing changes', async () => {
      const student = await buildStudent(club.id);
      const before = await rowCounts();
      const bodies = [
        { name: 'Stella Student' },
        { name: ' Stella   Student ' },
        { email: student.email },
        { email: student.email.toUpperCase(), name: 'Stella Student' },
      ];
      await eachCase(bodies, async (body) => {
        const answer = await correct(club, student.id, body);
        expect(answer.body.data).to.include({ name: 'Stella Student', email: student.email, verified: true });
      });
      expect(await rowCounts()).to.deep.equal(withAuditEntries(before, bodies.length));
      expect((await whoAmI(student.token)).status).to.equal(200);
    });

    it('removes password, sessions, tokens and confirmation if the e-mail changes, and mails a link', async () => {
      const students = studentAccounts(club.id);
      const student = await buildStudent(club.id);
      const elsewhere = await openFurtherSession('student', student.id);
      await students.requestReset(student.email);
      const reset = await mailedToken('student_reset_password', student.id);
      const email = someone();

      const { body } = await correct(club, student.id, { email: email.toUpperCase() });
      expect(body.data).to.include({ email, verified: false, has_password: false });
      await eachCase([student.token, elsewhere], async (token) => expectError(await whoAmI(token), 'unauthenticated'));
      expectError(await students.confirmReset(reset, 'a newly chosen phrase'), 'token_gone');
      // The password may belong to a stranger who received the address by mistake, so it must not work for the new address.
      await eachCase([email, student.email], async (one) =>
        expectError(await students.signIn(one, password), 'invalid_credentials'),
      );

      expect((await mailsTo(student.id)).slice(-2)).to.have.members([
        'student_verify_email',
        'student_address_changed',
      ]);
      const confirmed = await students.verify(await mailedToken('student_verify_email', student.id));
      expect(confirmed.body.data.student).to.include({ id: student.id, email, verified: true });
      expectError(await students.signIn(email, password), 'invalid_credentials');
    });

    it('accepts the e-mail of a removed student', async () => {
      const [removed, student] = [await buildStudent(club.id), await buildStudent(club.id)];
      await call('DELETE', studentPath(club, removed.id), { token: club.owner.token });
      expect((await correct(club, student.id, { email: removed.email })).status).to.equal(200);
    });
  });

  describe('403 role_not_permitted', () => {
    it('is returned to an editor who changes a student’s e-mail to another one (DEC-60)', async () => {
      const student = await buildStudent(club.id);
      const { token } = await buildMember(club.id, 'editor');
      const asEditor = (body: object) => call('PATCH', studentPath(club, student.id), { token, body });
      const before = [await rowCounts(), (await read(club, student.id)).body];
      expectError(await asEditor({ name: 'New', email: someone() }), 'role_not_permitted');
      expect([await rowCounts(), (await read(club, student.id)).body]).to.deep.equal(before);
      const { body } = await asEditor({ name: 'New', email: student.email.toUpperCase() });
      expect(body.data).to.include({ name: 'New', email: student.email, verified: true });
      const admin = await buildMember(club.id, 'admin');
      const moved = await call('PATCH', studentPath(club, student.id), {
        token: admin.token,
        body: { email: someone() },
      });
      expect(moved.status).to.equal(200);
    });
  });

  describe('404', () => {
    it('is returned for a student who is unknown, removed or of another club', async () => {
      const foreign = await buildStudent((await buildClub()).id);
      const removed = await buildStudent(club.id);
      await call('DELETE', studentPath(club, removed.id), { token: club.owner.token });
      await eachCase([newId(), foreign.id, removed.id], async (id) =>
        expectError(await correct(club, id, { name: 'Ada' }), 'not_found'),
      );
    });
  });

  describe('409', () => {
    it('returns email_taken for a taken e-mail, and changes no field, not even the name', async () => {
      const [student, other] = [await buildStudent(club.id), await buildStudent(club.id)];
      const before = [await rowCounts(), (await read(club, student.id)).body];
      expectError(await correct(club, student.id, { name: 'New', email: other.email.toUpperCase() }), 'email_taken');
      expect([await rowCounts(), (await read(club, student.id)).body]).to.deep.equal(before);
      expect((await whoAmI(student.token)).status).to.equal(200);
    });

    it('returns email_taken for one of two simultaneous changes to the same e-mail', async () => {
      const [one, two] = [await buildStudent(club.id), await buildStudent(club.id)];
      const email = someone();
      const answers = await Promise.all([correct(club, one.id, { email }), correct(club, two.id, { email })]);
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([200, 409]);
      expect(await factsOf(club.id)).to.have.length(1);
    });

    it('is not returned if only a student of another club has the e-mail', async () => {
      const student = await buildStudent(club.id);
      const { email } = await buildStudent((await buildClub()).id);
      expect((await correct(club, student.id, { email })).status).to.equal(200);
    });
  });

  it('returns 422 for an empty change', async () => {
    const student = await buildStudent(club.id);
    expectError(await correct(club, student.id, {}), 'invalid_request');
  });
});
