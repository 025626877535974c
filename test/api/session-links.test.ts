/**
 * Tests session links: a club's own site opens the classroom for its student (ENTRY-1 to ENTRY-6). session-links-in-chromium.test.ts follows
 * a browser, and session-link-times.test.ts compares the times of answers.
 */
import { expect } from 'chai';
import http from 'node:http';
import { removeExpiredLinks } from '../../domain/identity/sessions/session-links.ts';
import { sessionLinkRules } from '../../domain/identity/sessions/session-links.policy.ts';
import { scopes } from '../../contract/rules/scopes.ts';
import { ApiKey } from '../../entities/identity/api-key.ts';
import { SessionLink } from '../../entities/identity/session-link.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildClub, buildStudent, password, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import { buildSessionLink } from '../toolkit/builders/session-links.ts';
import { mailedToken } from '../toolkit/builders/sessions.ts';
import { studentAccounts } from '../toolkit/drive/accounts.ts';
import { call, clock, expectError, someAddress, testApi, visible, type Answer } from '../toolkit/drive/api.ts';
import { inThisOrder } from '../toolkit/drive/races.ts';
import { until } from '../toolkit/drive/until.ts';
import { columnsHolding, testDatabase, testDeps } from '../toolkit/stack/database.ts';

const second = 1_000;
const minute = 60 * second;

const create = (clubId: Id, studentId: Id, token: string, body?: object, headers: Record<string, string> = {}) =>
  call('POST', `/v1/clubs/${clubId}/students/${studentId}/session-links`, { token, headers, ...(body && { body }) });
const exchange = (clubId: Id, token: string, ip?: string): Promise<Answer> =>
  call('POST', '/v1/auth/session-links/exchange', {
    body: { club_id: clubId, token },
    ...(ip !== undefined && { ip }),
  });
const whoIs = (token: string) => call('GET', '/v1/auth/session', { token });
const linksOf = async (studentId: Id) =>
  (await testDatabase()).manager.find(SessionLink, { where: { studentId }, order: { createdAt: 'ASC' } });

describe('session links', () => {
  let club: TestClub;
  let student: TestStudent;
  let key: { id: Id; token: string };
  beforeEach(async () => {
    club = await buildClub();
    student = await buildStudent(club.id);
    key = await buildApiKey(club.id, ['sessions:write']);
  });
  const link = async (path?: string) =>
    (await buildSessionLink(club.id, student.id, { key: key.token, ...(path !== undefined && { path }) })).token;
  const at = (id: Id) => `/v1/clubs/${club.id}/api-keys/${id}`;
  const asOwner = (method: string, path: string, body?: object) =>
    call(method, path, { token: club.owner.token, ...(body && { body }) });

  describe('POST /v1/clubs/{clubId}/students/{studentId}/session-links', () => {
    it('returns the address of the classroom with the token in the fragment, for 60 seconds', async () => {
      const { status, body } = await create(club.id, student.id, key.token, { path: '/courses/knots?tab=files#top' });
      const { slug } = (await asOwner('GET', `/v1/clubs/${club.id}`)).body.data;
      expect(status).to.equal(201);
      const { origin, pathname, search, hash } = new URL(body.data.url);
      expect([origin, pathname, search]).to.deep.equal([`http://${slug}.classroom.localhost:3000`, '/enter', '']);
      expect(hash).to.match(/^#token=[\w-]{43}$/);
      const [row] = await linksOf(student.id);
      expect(body.data.expires_at).to.equal(row?.expiresAt.toISOString());
      expect((row?.expiresAt.getTime() ?? 0) - (row?.createdAt.getTime() ?? 0)).to.equal(60 * second);
    });

    it('needs no body', async () => {
      expect((await create(club.id, student.id, key.token)).status).to.equal(201);
    });

    it('stores only a hash of the token', async () => {
      expect(await columnsHolding(await link())).to.deep.equal([]);
    });

    it('returns another link to a repetition with an Idempotency-Key, and stores no answer', async () => {
      const repeat = () => create(club.id, student.id, key.token, {}, { 'idempotency-key': 'one' });
      const [first, again] = [await repeat(), await repeat()];
      expect(first.body.data.url).to.not.equal(again.body.data.url);
      expect(again.headers.has('idempotent-replayed')).to.equal(false);
      const rows = await (await testDatabase()).query(`SELECT FROM idempotency_keys WHERE club_id = $1`, [club.id]);
      expect(rows).to.deep.equal([]);
    });

    it('writes an audit entry with the key and the student, and without the token', async () => {
      const token = await link('/courses/knots');
      const { data } = (await asOwner('GET', `/v1/clubs/${club.id}/audit-log`)).body;
      expect(data).to.have.length(1);
      expect(data[0]).to.deep.include({
        actor: { kind: 'api_key', id: key.id },
        operation: 'createStudentSessionLink',
        records: [{ kind: 'student', id: student.id }],
        fields: ['path'],
      });
      expect(JSON.stringify(data)).to.not.include(token);
    });

    it('is refused to an owner in person, and says why', async () => {
      const answer = await create(club.id, student.id, club.owner.token);
      expectError(answer, 'role_not_permitted');
      expect(answer.body.error.message).to.equal('Only API keys may call this.');
    });

    it('is refused to a key with every other scope', async () => {
      const others = await buildApiKey(
        club.id,
        scopes.filter((scope) => scope !== 'sessions:write'),
      );
      expectError(await create(club.id, student.id, others.token), 'scope_not_granted');
    });

    it('returns the same 404 for a student of another club, a removed one and an unknown one', async () => {
      const foreign = await buildStudent((await buildClub()).id);
      const removed = await buildStudent(club.id);
      await asOwner('DELETE', `/v1/clubs/${club.id}/students/${removed.id}`);
      const answers = new Set<string>();
      await eachCase([foreign.id, removed.id, newId()], async (id) => {
        const answer = await create(club.id, id, key.token);
        expectError(answer, 'not_found');
        answers.add(answer.text);
      });
      expect(answers.size).to.equal(1);
    });

    it('returns 403 email_not_verified for a pending sign-up, until the club takes it over', async () => {
      const { signUp, idOf } = studentAccounts(club.id);
      const email = `${newId()}@example.com`;
      await signUp(email, password);
      const id = await idOf(email);
      expectError(await create(club.id, id, key.token), 'email_not_verified');
      await asOwner('POST', `/v1/clubs/${club.id}/students`, { name: 'Ada', email });
      expect((await create(club.id, id, key.token)).status).to.equal(201);
    });

    it('returns 422 for a path that is not inside the classroom, and creates no link', async () => {
      const paths = [
        '',
        'courses',
        '//evil.example',
        '/\\evil.example',
        '/..//evil.example',
        '/a b',
        '/%2f/evil.example',
      ];
      await eachCase(paths, async (path) =>
        expectError(await create(club.id, (await buildStudent(club.id)).id, key.token, { path }), 'invalid_request'),
      );
      expect(await linksOf(student.id)).to.deep.equal([]);
    });

    it('returns 400 for an unknown field', async () => {
      expectError(await create(club.id, student.id, key.token, { next: '/' }), 'malformed_request');
    });

    it('makes the oldest link void if the student has five open links', async () => {
      const tokens: string[] = [];
      for (let count = 0; count < sessionLinkRules.openPerStudent + 1; count++) {
        tokens.push(await link());
        clock.advance(second);
      }
      expect(await linksOf(student.id)).to.have.length(sessionLinkRules.openPerStudent);
      expectError(await exchange(club.id, tokens[0] ?? ''), 'invalid_credentials');
      await eachCase(tokens.slice(1), async (token) => expect((await exchange(club.id, token)).status).to.equal(200));
    });

    it('keeps five open links if ten are requested at the same time', async () => {
      const keys = await Promise.all([1, 2].map(() => buildApiKey(club.id, ['sessions:write'])));
      const answers = await Promise.all(
        keys.flatMap(({ token }) => Array.from({ length: 5 }, () => create(club.id, student.id, token))),
      );
      expect(answers.map(({ status }) => status)).to.deep.equal(Array.from({ length: 10 }, () => 201));
      expect(await linksOf(student.id)).to.have.length(sessionLinkRules.openPerStudent);
    });
  });

  describe('the limits of session links (ENTRY-5)', () => {
    it('are 10 a minute for each student, and do not count for other students and clubs', async () => {
      const statuses: number[] = [];
      for (let count = 0; count < 11; count++) statuses.push((await create(club.id, student.id, key.token)).status);
      expect(statuses).to.deep.equal([...Array.from({ length: 10 }, () => 201), 429]);
      expect((await create(club.id, (await buildStudent(club.id)).id, key.token)).status).to.equal(201);
      clock.advance(2 * minute);
      expect((await create(club.id, student.id, key.token)).status).to.equal(201);
    });

    it('show the key its remaining links, or the used-up links of the student', async () => {
      const { headers } = await create(club.id, student.id, key.token);
      expect(headers.get('ratelimit-policy')).to.equal('"session_links";q=450;w=60');
      expect(headers.get('ratelimit')).to.match(/^"session_links";r=449;t=\d+$/);
      for (let count = 0; count < 9; count++) await create(club.id, student.id, key.token);
      const refused = await create(club.id, student.id, key.token);
      expectError(refused, 'rate_limited');
      expect(refused.headers.get('ratelimit-policy')).to.equal('"session_links_of_student";q=10;w=60');
      expect(refused.headers.get('ratelimit')).to.match(/^"session_links_of_student";r=0;t=\d+$/);
    });

    it('do not let a club use up the links of another club’s student', async () => {
      const stranger = await buildApiKey((await buildClub()).id, ['sessions:write']);
      const strangersClub = (await (await testDatabase()).manager.findOneByOrFail(ApiKey, { id: stranger.id })).clubId;
      for (let count = 0; count < 12; count++) await create(strangersClub, student.id, stranger.token);
      expect((await create(club.id, student.id, key.token)).status).to.equal(201);
    });

    it('leave the writes of the club to others', async () => {
      for (let count = 0; count < 6; count++)
        for (let times = 0; times < 8; times++) await create(club.id, (await buildStudent(club.id)).id, key.token);
      const tags = await buildApiKey(club.id, ['tags:write']);
      const answer = await call('POST', `/v1/clubs/${club.id}/tags`, { token: tags.token, body: { name: 'Sailors' } });
      expect(answer.headers.get('ratelimit')).to.match(/^"club_writes";r=44;/);
    });
  });

  describe('POST /v1/auth/session-links/exchange', () => {
    it('opens a session of the student, with a device token and the path', async () => {
      const { status, body } = await exchange(club.id, await link('/courses/knots'));
      expect(status).to.equal(200);
      expect(body.data).to.include({ path: '/courses/knots' });
      expect(body.data.student.id).to.equal(student.id);
      expect((await whoIs(body.data.token)).body.data.id).to.equal(student.id);
      expect(Date.parse(body.data.expires_at) - clock.now().getTime()).to.be.within(
        30 * 86_400_000 - minute,
        30 * 86_400_000,
      );
    });

    it('returns no path if the link has none', async () => {
      expect((await exchange(club.id, await link())).body.data).to.not.have.property('path');
    });

    it('makes the device known, so that wrong passwords of strangers do not block it', async () => {
      const { device_token: device } = (await exchange(club.id, await link())).body.data;
      const signIn = (secret: string, ip: string, known?: string) =>
        call('POST', '/v1/auth/sign-in', {
          ip,
          body: { club_id: club.id, email: student.email, password: secret, ...(known && { device_token: known }) },
        });
      for (let count = 0; count < 10; count++) await signIn('wrong password', someAddress());
      expectError(await signIn(password, someAddress()), 'rate_limited');
      expect((await signIn(password, someAddress(), device)).status).to.equal(200);
    });

    it('returns one 401 for each link that cannot be used, and opens no session', async () => {
      const other = await buildClub();
      const expired = await link();
      const used = await link();
      clock.advance(sessionLinkRules.lifetimeMs);
      const foreign = await link();
      expect((await exchange(club.id, used)).status).to.equal(401);
      const spent = await link();
      await exchange(club.id, spent);
      const sessions = await sessionsOf(student.id);
      const answers = new Set<string>();
      const cases = {
        expired,
        spent,
        unknown: 'x'.repeat(43),
        short: '0',
        long: 'x'.repeat(128),
        'a session': student.token,
      };
      await eachCase(Object.entries(cases), async ([, token]) => {
        const answer = await exchange(club.id, token);
        expectError(answer, 'invalid_credentials');
        answers.add(visible(answer));
      });
      answers.add(visible(await exchange(other.id, foreign)));
      answers.add(visible(await exchange(newId(), foreign)));
      expect([...answers]).to.have.length(1);
      expect(await sessionsOf(student.id)).to.equal(sessions);
      expect((await exchange(club.id, foreign)).status, 'another club does not spend the link').to.equal(200);
    });

    it('is good for 55 seconds, and not for 61', async () => {
      const [early, late] = [await link(), await link()];
      const { createdAt } = (await linksOf(student.id))[0] ?? { createdAt: new Date() };
      clock.advance(createdAt.getTime() + 55 * second - clock.now().getTime());
      expect((await exchange(club.id, early)).status).to.equal(200);
      clock.advance(6 * second);
      expectError(await exchange(club.id, late), 'invalid_credentials');
    });

    it('is void after the removal of the student', async () => {
      const token = await link();
      await asOwner('DELETE', `/v1/clubs/${club.id}/students/${student.id}`);
      expectError(await exchange(club.id, token), 'invalid_credentials');
      expect(await linksOf(student.id)).to.deep.equal([]);
    });

    it('is void after a new address of the student', async () => {
      const token = await link();
      await asOwner('PATCH', `/v1/clubs/${club.id}/students/${student.id}`, { email: `${newId()}@example.com` });
      expectError(await exchange(club.id, token), 'invalid_credentials');
    });

    for (const [change, act] of Object.entries({
      revoked: () => asOwner('DELETE', at(key.id)),
      'rotated without overlap': () => asOwner('POST', `${at(key.id)}/rotate`, { overlap_hours: 0 }),
      'rotated with overlap': () => asOwner('POST', `${at(key.id)}/rotate`),
      'changed to other scopes': () => asOwner('PATCH', at(key.id), { scopes: ['tags:read'] }),
      expired: async () =>
        (await testDatabase()).query(`UPDATE api_keys SET expires_at = $2 WHERE id = $1`, [key.id, clock.now()]),
      deleted: async () => (await testDatabase()).query(`DELETE FROM api_keys WHERE id = $1`, [key.id]),
    }))
      it(`is void after its key was ${change}`, async () => {
        const token = await link();
        clock.advance(second);
        await act();
        expectError(await exchange(club.id, token), 'invalid_credentials');
      });

    it('is void if the key lost the scope and got it back', async () => {
      const token = await link();
      clock.advance(second);
      await asOwner('PATCH', at(key.id), { scopes: ['tags:read'] });
      await asOwner('PATCH', at(key.id), { scopes: ['sessions:write'] });
      expectError(await exchange(club.id, token), 'invalid_credentials');
    });

    for (const [state, statement] of Object.entries({
      'its key is revoked': `UPDATE api_keys SET revoked_at = created_at WHERE id = $1`,
      'its key lacks the scope': `UPDATE api_keys SET scopes = '{tags:read}' WHERE id = $1`,
      'its student is removed': `UPDATE students SET removed_at = created_at, email = NULL WHERE id = (SELECT student_id FROM session_links WHERE api_key_id = $1)`,
    }))
      it(`is void while ${state}, whatever the clocks of other processes show`, async () => {
        const token = await link();
        await (await testDatabase()).query(statement, [key.id]);
        expectError(await exchange(club.id, token), 'invalid_credentials');
      });

    it('stays good after a use of the key', async () => {
      const token = await link();
      clock.advance(10 * second);
      await link();
      expect((await exchange(club.id, token)).status).to.equal(200);
    });

    it('opens one session for 50 exchanges at the same time', async () => {
      const token = await link();
      const before = await sessionsOf(student.id);
      const answers = await Promise.all(Array.from({ length: 50 }, () => exchange(club.id, token, someAddress())));
      expect(answers.filter(({ status }) => status === 200)).to.have.length(1);
      expect(answers.filter(({ status }) => status === 401)).to.have.length(49);
      expect((await sessionsOf(student.id)) - before).to.equal(1);
    });

    it('opens no session that outlives a removal of the student at the same time', async () => {
      const lock = sql`SELECT 1 FROM students WHERE id = ${student.id} FOR UPDATE`;
      const remove = () => asOwner('DELETE', `/v1/clubs/${club.id}/students/${student.id}`);
      const token = await link();
      const [removal, late] = await inThisOrder(lock, remove, () => exchange(club.id, token));
      expect([removal.status, late.status]).to.deep.equal([204, 401]);
      expect(await sessionsOf(student.id)).to.equal(0);

      student = await buildStudent(club.id);
      const other = await link();
      const lockOther = sql`SELECT 1 FROM students WHERE id = ${student.id} FOR UPDATE`;
      const [early] = await inThisOrder(lockOther, () => exchange(club.id, other), remove);
      expect(early.status).to.equal(200);
      expect((await whoIs(early.body.data.token)).status).to.equal(401);
    });

    it('is spent if the caller leaves before the answer, and another link works', async () => {
      const token = await link();
      const before = await sessionsOf(student.id);
      await exchangeAndLeave(club.id, token);
      await until('the link is spent', { timeoutMs: 10_000 }, async () => (await linksOf(student.id)).length === 0);
      expect((await sessionsOf(student.id)) - before).to.equal(1);
      expectError(await exchange(club.id, token), 'invalid_credentials');
      expect((await exchange(club.id, await link())).status).to.equal(200);
    });

    it('stays good if the statement that opens the session fails', async () => {
      const token = await link();
      const source = await testDatabase();
      await source.query(`
        CREATE FUNCTION refuse_session() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'cut'; END $$;
        CREATE TRIGGER refuse_session BEFORE INSERT ON student_sessions FOR EACH ROW EXECUTE FUNCTION refuse_session()`);
      try {
        expect((await exchange(club.id, token)).status).to.equal(500);
      } finally {
        await source.query(`DROP TRIGGER refuse_session ON student_sessions; DROP FUNCTION refuse_session`);
      }
      expect((await exchange(club.id, token)).status).to.equal(200);
    });
  });

  describe('the account behind a session link (ENTRY-4)', () => {
    const invite = async () => {
      const email = `${newId()}@example.com`;
      const { id } = (await asOwner('POST', `/v1/clubs/${club.id}/students`, { name: 'Ada', email })).body.data;
      return { id: id as Id, email };
    };

    it('stays unconfirmed, and its mailed confirmation still works', async () => {
      const { id } = await invite();
      const { token } = await buildSessionLink(club.id, id, { key: key.token });
      const entry = (await exchange(club.id, token)).body.data;
      expect(entry.student.verified).to.equal(false);
      const mailed = await mailedToken('student_verify_email', id).catch(() => mailedToken('student_invitation', id));
      const confirmed = await call('POST', '/v1/auth/verify-email', { body: { token: mailed } });
      expect(confirmed.body.data.student.verified).to.equal(true);
    });

    it('gets no password before it is confirmed', async () => {
      const { id } = await invite();
      const { token } = await buildSessionLink(club.id, id, { key: key.token });
      const session = (await exchange(club.id, token)).body.data.token;
      const choose = () =>
        call('POST', '/v1/auth/password', { token: session, body: { password: 'a quite different phrase' } });
      expectError(await choose(), 'email_not_verified');
      await (await testDatabase()).query(`UPDATE students SET verified_at = now() WHERE id = $1`, [id]);
      expect((await choose()).status).to.equal(200);
    });
  });

  it('are removed an hour after their expiry', async () => {
    await link();
    const { db } = await testDeps();
    const [row] = await linksOf(student.id);
    const expiry = row?.expiresAt.getTime() ?? 0;
    await removeExpiredLinks(db, new Date(expiry + sessionLinkRules.retentionMs - 1));
    expect(await linksOf(student.id)).to.have.length(1);
    const { rows, more } = await removeExpiredLinks(db, new Date(expiry + sessionLinkRules.retentionMs));
    expect([rows.sessionLinks, more]).to.deep.equal([1, false]);
    expect(await linksOf(student.id)).to.deep.equal([]);
  });
});

async function sessionsOf(studentId: Id): Promise<number> {
  const [row] = await (
    await testDatabase()
  ).query<{ count: number }[]>(`SELECT count(*)::int AS count FROM student_sessions WHERE student_id = $1`, [
    studentId,
  ]);
  return row?.count ?? 0;
}

/** Sends the request, and closes the connection as soon as the API has it. */
async function exchangeAndLeave(clubId: Id, token: string): Promise<void> {
  const { port } = await testApi();
  await new Promise<void>((resolve) => {
    const request = http.request({
      port,
      host: '127.0.0.1',
      method: 'POST',
      path: '/v1/auth/session-links/exchange',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': someAddress() },
    });
    request.on('error', () => resolve()).on('close', () => resolve());
    request.end(JSON.stringify({ club_id: clubId, token }), () => setTimeout(() => request.destroy(), 5));
  });
}
