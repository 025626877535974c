import { expect } from 'chai';
import { sha256 } from '../../platform/infra/keys/vault.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, buildMember, buildStudent } from '../toolkit/builders/clubs.ts';
import { openFurtherSession } from '../toolkit/builders/sessions.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { call, clock, expectError } from '../toolkit/drive/api.ts';
import { columnsHolding, testDatabase } from '../toolkit/stack/database.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const read = (token: string) => call('GET', '/v1/auth/session', { token });
const readProfile = (token: string) => call('GET', '/v1/me', { token });

describe('GET /v1/auth/session', () => {
  describe('200', () => {
    it('returns the complete record of the session’s student', async () => {
      const club = await buildClub();
      const student = await buildStudent(club.id);
      const profile = await readProfile(club.owner.token);
      const { body } = await read(student.token);
      expect(body).to.deep.equal({
        data: {
          id: student.id,
          name: 'Stella Student',
          email: student.email,
          verified: true,
          has_password: true,
          created_at: body.data.created_at,
          club_id: club.id,
          club_slug: profile.body.data.organizations[0].slug,
        },
      });
      expect(new Date(body.data.created_at).toISOString()).to.equal(body.data.created_at);
    });

    it('shows a signed address of the student’s avatar, if there is an avatar (MED-28)', async () => {
      const student = await buildStudent((await buildClub()).id);
      await alter('students', student.id, { avatar_key: 'media/club/picture.1-preview-1' });
      const { pathname, searchParams } = new URL((await read(student.token)).body.data.avatar_url);
      expect(pathname).to.match(/\/media\/club\/picture\.1-preview-1$/);
      expect(searchParams.get('X-Amz-Expires')).to.equal('1200');
    });

    it('accepts the scheme Bearer in any letter case, with several spaces after the scheme', async () => {
      const { token } = await buildStudent((await buildClub()).id);
      for (const authorization of [`bearer ${token}`, `BEARER   ${token}`]) {
        const answer = await call('GET', '/v1/auth/session', { headers: { authorization } });
        expect(answer.status, authorization.slice(0, 8)).to.equal(200);
      }
    });
  });

  describe('401', () => {
    it('is returned if the request has no valid bearer token', async () => {
      const { token } = await buildStudent((await buildClub()).id);
      const malformed = [
        '',
        'Bearer',
        'Bearer ',
        token,
        `Basic ${token}`,
        `Bearer ${token} ${token}`,
        `Bearer ${token}, Bearer ${token}`,
        `Bearer "${token}"`,
        `Bearer ${token}'--`,
        `Bearer ${'a'.repeat(129)}`,
        `Bearer ${'a'.repeat(8_000)}`,
        'Bearer cls_',
        'Bearer cls_unknown',
        `Bearer ${token.slice(0, -1)}`,
        `Bearer ${token}A`,
        `Bearer ${token.toUpperCase()}`,
        'Bearer ÿþ',
      ];
      const bodies = new Set<string>();
      expectError(await call('GET', '/v1/auth/session'), 'unauthenticated');
      await eachCase(malformed, async (authorization) => {
        const answer = await call('GET', '/v1/auth/session', { headers: { authorization } });
        expectError(answer, 'unauthenticated');
        expect(answer.headers.get('www-authenticate')).to.equal('Bearer');
        bodies.add(answer.text);
      });
      expect([...bodies]).to.have.length(1);
    });

    it('is returned to an administrator, and for GET /v1/me to a student', async () => {
      const club = await buildClub();
      const student = await buildStudent(club.id);
      expectError(await read(club.owner.token), 'unauthenticated');
      expectError(await readProfile(student.token), 'unauthenticated');
    });
  });
});

describe('the lifetime of a session', () => {
  it('is 30 days from the sign-in for a student, regardless of use', async () => {
    const { token } = await buildStudent((await buildClub()).id);
    clock.advance(15 * day);
    expect((await read(token)).status).to.equal(200);
    clock.advance(15 * day - 2 * second);
    expect((await read(token)).status).to.equal(200);
    clock.advance(3 * second);
    expectError(await read(token), 'unauthenticated');
  });

  it('is 12 hours for an administrator who makes no call', async () => {
    const { owner } = await buildClub();
    const idle = await buildClub();
    clock.advance(12 * hour - 2 * second);
    expect((await readProfile(owner.token)).status).to.equal(200);
    clock.advance(3 * second);
    expectError(await readProfile(idle.owner.token), 'unauthenticated');
  });

  it('is 12 hours for an administrator, counted from the last call', async () => {
    const { owner } = await buildClub();
    for (let uses = 0; uses < 4; uses++) {
      clock.advance(11 * hour);
      expect((await readProfile(owner.token)).status, `use ${uses}`).to.equal(200);
    }
    clock.advance(12 * hour + second);
    expectError(await readProfile(owner.token), 'unauthenticated');
  });

  it('is extended even by a call that a club refuses', async () => {
    const [own, other] = [await buildClub(), await buildClub()];
    clock.advance(11 * hour);
    expectError(await call('GET', `/v1/clubs/${other.id}/students`, { token: own.owner.token }), 'forbidden');
    clock.advance(11 * hour);
    expect((await readProfile(own.owner.token)).status).to.equal(200);
  });
});

describe('DELETE /v1/auth/session', () => {
  describe('204', () => {
    const end = (token: string) => call('DELETE', '/v1/auth/session', { token });

    it('ends a student’s session, so that the next call returns 401', async () => {
      const { token } = await buildStudent((await buildClub()).id);
      const answer = await end(token);
      expect(answer.status).to.equal(204);
      expect(answer.text).to.equal('');
      expectError(await read(token), 'unauthenticated');
    });

    it('ends an administrator’s session in every club', async () => {
      const { id, owner } = await buildClub();
      expect((await end(owner.token)).status).to.equal(204);
      expectError(await readProfile(owner.token), 'unauthenticated');
      expectError(await call('GET', `/v1/clubs/${id}/students`, { token: owner.token }), 'unauthenticated');
    });

    it('keeps the person’s other sessions', async () => {
      const club = await buildClub();
      const student = await buildStudent(club.id);
      const elsewhere = await openFurtherSession('student', student.id);
      await end(student.token);
      expect((await read(elsewhere)).status).to.equal(200);

      const member = await buildMember(club.id, 'support');
      const secondDesk = await openFurtherSession('admin', member.id);
      await end(member.token);
      expect((await readProfile(secondDesk)).status).to.equal(200);
    });

    it('removes the row of the session', async () => {
      const { token } = await buildStudent((await buildClub()).id);
      await end(token);
      const source = await testDatabase();
      const rows = await source.query<unknown[]>(`SELECT 1 FROM student_sessions WHERE token_hash = $1`, [
        sha256(token),
      ]);
      expect(rows).to.deep.equal([]);
    });
  });

  it('returns 401 for a session that has ended', async () => {
    const { token } = await buildStudent((await buildClub()).id);
    await call('DELETE', '/v1/auth/session', { token });
    expectError(await call('DELETE', '/v1/auth/session', { token }), 'unauthenticated');
  });
});

describe('stored sessions', () => {
  it('do not contain the token of a student or of an administrator', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    await eachCase([student.token, club.owner.token], async (token) => {
      expect(await columnsHolding(token)).to.deep.equal([]);
      expect(await columnsHolding(token.replace(/^\w+?_/, ''))).to.deep.equal([]);
    });
    // Proves that the search would find a token if it were stored.
    expect(await columnsHolding(student.email)).to.deep.equal(['students.email']);
  });

  it('have tokens that begin with cls_ and contain 32 random bytes (DEC-10)', async () => {
    const { id, owner } = await buildClub();
    const student = await buildStudent(id);
    await eachCase([owner.token, student.token], async (token) => {
      const [, random = ''] = /^cls_([\w-]{43})$/.exec(token) ?? [];
      expect(Buffer.from(random, 'base64url')).to.have.length(32);
    });
  });

  it('remain valid if their token begins with an older prefix', async () => {
    const { id, owner } = await buildClub();
    const student = await buildStudent(id);
    const source = await testDatabase();
    const before = { student: `student_${'s'.repeat(43)}`, admin: `admin_${'a'.repeat(43)}` };
    const rename = (table: string, token: string, old: string) =>
      source.query(`UPDATE ${table} SET token_hash = $2 WHERE token_hash = $1`, [sha256(token), sha256(old)]);
    await rename('student_sessions', student.token, before.student);
    await rename('administrator_sessions', owner.token, before.admin);
    expect((await read(before.student)).body.data.id).to.equal(student.id);
    expect((await readProfile(before.admin)).body.data.id).to.equal(owner.id);
    expectError(await read(before.admin), 'unauthenticated');
    await call('DELETE', '/v1/auth/session', { token: before.student });
    expectError(await read(before.student), 'unauthenticated');
  });
});
