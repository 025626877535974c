/** Tests that a repeated request with an `Idempotency-Key` has one effect, and gets the answer of the first one (IDEM-1 to IDEM-8, ADR 71). */
import { randomInt, randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { expect } from 'chai';
import { fingerprintOf, repetitionsOf } from '../../api/middleware/repetitions.ts';
import { Draw } from '../proofs/fuzz/requests/draw.ts';
import { valueOf } from '../proofs/fuzz/requests/values.ts';
import { createAnswerFinder, removeExpiredAnswers } from '../../domain/idempotency/repetitions.ts';
import { repetitionRules } from '../../domain/idempotency/repetitions.policy.ts';
import type { Id } from '../../platform/core/ids.ts';
import { DomainError } from '../../platform/core/errors.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { ownerAsCaller } from '../toolkit/builders/callers.ts';
import { buildClub, buildMember, buildStudent, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import { buildCourse } from '../toolkit/builders/courses.ts';
import { buildSpace, buildSpaceMembership } from '../toolkit/builders/community.ts';
import { call, clock, expectError, testApi, type Answer, type Call } from '../toolkit/drive/api.ts';
import { bodySchemaOf, operationOf, withBody } from '../toolkit/drive/every-operation.ts';
import { inThisOrder, withOpenTransaction } from '../toolkit/drive/races.ts';
import { columnsHolding, rowCounts, testDatabase, testDeps } from '../toolkit/stack/database.ts';

const newKey = () => randomUUID();
const isReplayed = ({ headers }: Answer) => headers.get('idempotent-replayed');
const withKey = (key: string, more: Call = {}): Call => ({
  ...more,
  headers: { ...more.headers, 'idempotency-key': key },
});

describe('a request with an Idempotency-Key', () => {
  let club: TestClub;
  let student: TestStudent;
  beforeEach('create a club of its own, because writes of a club are limited', async () => {
    club = await buildClub();
    student = await buildStudent(club.id);
  });

  const at = (path: string) => `/v1/clubs/${club.id}${path}`;
  const createTag = (key: string, name: string, token = club.owner.token) =>
    call('POST', at('/tags'), withKey(key, { token, body: { name } }));
  const tagsOf = async (name: string) => {
    const source = await testDatabase();
    const [row] = await source.query<{ count: number }[]>(
      `SELECT count(*)::int FROM tags WHERE club_id = $1 AND name = $2`,
      [club.id, name],
    );
    return row?.count;
  };
  const rowsOf = async (key: string) =>
    (await testDeps()).db.rows<{ status: number; answer: Buffer | null; caller: string }>(
      sql`SELECT status, answer, caller FROM idempotency_keys WHERE key_hash = sha256(${key}::bytea)`,
    );

  describe('that is repeated', () => {
    it('gets the status and body of the first answer, and changes no row', async () => {
      const key = newKey();
      const first = await createTag(key, 'vip');
      const before = await rowCounts();
      const again = await createTag(key, 'vip');
      expect([again.status, again.text, isReplayed(again)]).to.deep.equal([201, first.text, 'true']);
      expect(isReplayed(first)).to.equal(null);
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('gets the ETag of the first answer', async () => {
      const key = newKey();
      const draft = {
        trigger: { kind: 'manual' },
        reentry: 'once',
        exit_on_access_lost: false,
        steps: [{ id: 'wait', kind: 'wait', wait: { kind: 'delay', amount: 1, unit: 'days' } }],
      };
      const send = () =>
        call('POST', at('/workflows'), withKey(key, { token: club.owner.token, body: { name: 'Welcome', draft } }));
      const [first, again] = [await send(), await send()];
      expect(again.headers.get('etag')).to.equal(first.headers.get('etag')).and.not.equal(null);
      expect([first.status, again.text]).to.deep.equal([201, first.text]);
    });

    it('is recognized with and without quotes around the key', async () => {
      const first = await createTag(String.raw`"a \"quoted\" key"`, 'quoted');
      const again = await createTag('a "quoted" key', 'quoted');
      expect([first.status, again.text, isReplayed(again)]).to.deep.equal([201, first.text, 'true']);
    });

    it('is recognized if an id in its path is in capital letters', async () => {
      const key = newKey();
      const first = await createTag(key, 'capitals');
      const path = `/v1/clubs/${club.id.toUpperCase()}/tags`;
      const again = await call('POST', path, withKey(key, { token: club.owner.token, body: { name: 'capitals' } }));
      expect([again.status, again.text]).to.deep.equal([201, first.text]);
    });

    it('has a new effect after 24 hours', async () => {
      const key = newKey();
      const send = (language: string) =>
        call('PATCH', '/v1/auth/session', withKey(key, { token: student.token, body: { language } }));
      const first = await send('es');
      clock.advance(repetitionRules.keptMs - 60_000);
      expect(isReplayed(await send('es'))).to.equal('true');
      clock.advance(61_000);
      const later = await send('de');
      expect([first.status, later.body.data.language, isReplayed(later)]).to.deep.equal([200, 'de', null]);
      expect((await send('de')).text).to.equal(later.text);
    });

    it('needs a valid session, the role and the rate limit again', async () => {
      const key = newKey();
      const editor = await buildMember(club.id, 'editor');
      expect((await createTag(key, 'judged', editor.token)).status).to.equal(201);
      const source = await testDatabase();
      await source.query(`UPDATE memberships SET role = 'support' WHERE administrator_id = $1`, [editor.id]);
      expectError(await createTag(key, 'judged', editor.token), 'role_not_permitted');
      await source.query(`DELETE FROM administrator_sessions WHERE administrator_id = $1`, [editor.id]);
      expectError(await createTag(key, 'judged', editor.token), 'unauthenticated');
      const other = await buildClub();
      const key2 = newKey();
      const send = () =>
        call('POST', `/v1/clubs/${other.id}/tags`, withKey(key2, { token: other.owner.token, body: { name: 'many' } }));
      const answers: Answer[] = [];
      for (let count = 0; count < 61; count++) answers.push(await send());
      expect(answers.slice(1, 60).map(isReplayed)).to.deep.equal(Array(59).fill('true'));
      expectError(answers.at(-1) as Answer, 'rate_limited');
    });

    it('is executed if the first request was refused, because errors are not stored', async () => {
      const key = newKey();
      const body = { student_id: student.id, delivery_id: randomUUID() };
      const grant = () => call('POST', at('/enrollments'), withKey(key, { token: club.owner.token, body }));
      expectError(await grant(), 'not_found');
      expect(await rowsOf(key)).to.deep.equal([]);
      expect((await createTag(key, 'after a refusal')).status).to.equal(201);
    });

    it('has a separate effect for each caller', async () => {
      const key = newKey();
      const admin = await buildMember(club.id, 'admin');
      const [first, other] = [await createTag(key, 'first'), await createTag(key, 'other', admin.token)];
      expect([first.status, other.status, isReplayed(other)]).to.deep.equal([201, 201, null]);
      expect((await rowsOf(key)).map(({ caller }) => caller).toSorted()).to.deep.equal(
        [club.owner.id, admin.id].map((id) => `administrator:${id}`).toSorted(),
      );
    });

    it('gets an answer without signed addresses that still matches its schema', async () => {
      const source = await testDatabase();
      await source.query(`UPDATE students SET avatar_key = 'avatars/somebody' WHERE id = $1`, [student.id]);
      const key = newKey();
      const rename = () =>
        call('PATCH', at(`/students/${student.id}`), withKey(key, { token: club.owner.token, body: { name: 'Rosa' } }));
      const first = await rename();
      const again = await rename();
      expect(first.body.data.avatar_url).to.be.a('string');
      const { avatar_url: _, ...rest } = first.body.data;
      expect(again.body).to.deep.equal({ data: rest });
      await source.query(`UPDATE students SET avatar_key = NULL WHERE id = $1`, [student.id]);
    });

    it('gets the answer of a request that changed nothing', async () => {
      const key = newKey();
      const space = await buildSpace(club.id);
      await buildSpaceMembership(space, student.id);
      const read = () =>
        call(
          'POST',
          at(`/classroom/community/spaces/${space.id}/read`),
          withKey(key, { token: student.token, body: { read_until: '2020-03-02T09:20:00.000Z' } }),
        );
      const [first, again] = [await read(), await read()];
      expect([first.status, again.text, isReplayed(again)]).to.deep.equal([200, first.text, 'true']);
    });
  });

  describe('that is sent several times at the same time', () => {
    it('has one effect if it is sent 20 times, and all 20 get the same answer', async () => {
      const key = newKey();
      const answers = await Promise.all(Array.from({ length: 20 }, () => createTag(key, 'twins')));
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).to.equal(1);
      expect(answers.filter((answer) => isReplayed(answer) === 'true')).to.have.length(19);
      expect([answers[0]?.status, await tagsOf('twins')]).to.deep.equal([201, 1]);
    });

    it('waits for the first request, and gets the first answer', async () => {
      const key = newKey();
      const lock = sql`SELECT FROM students WHERE id = ${student.id} FOR UPDATE`;
      const body = { id: randomUUID(), points: 2 };
      const send = () =>
        call('POST', at(`/students/${student.id}/points`), withKey(key, { token: club.owner.token, body }));
      const [first, second] = await inThisOrder(lock, send, send);
      expect([first.status, second.text, isReplayed(second)]).to.deep.equal([201, first.text, 'true']);
    });

    it('is answered after 5 seconds with 409 request_in_progress', async () => {
      const key = newKey();
      const caller = `administrator:${club.owner.id}`;
      const began = performance.now();
      await withOpenTransaction(
        (tx) =>
          tx.run(sql`INSERT INTO idempotency_keys (caller, key_hash, id, is_about_student, fingerprint, created_at, expires_at)
            VALUES (${caller}, sha256(${key}::bytea), ${randomUUID()}, false, '', now(), now() + interval '1 day')`),
        async (tx) => {
          expectError(await createTag(key, 'waits'), 'request_in_progress');
          await tx.run(sql`DELETE FROM idempotency_keys WHERE key_hash = sha256(${key}::bytea)`);
        },
      );
      expect(performance.now() - began).to.be.within(4_500, 9_000);
      expect([(await createTag(key, 'waits')).status, await tagsOf('waits')]).to.deep.equal([201, 1]);
    }).timeout(15_000);

    it('gets the first answer if its own execution fails because of the first request', async () => {
      const key = newKey();
      const body = { name: 'refused' };
      const deps = await testDeps();
      const describeRepetition = repetitionsOf(
        { deps: deps as never },
        createAnswerFinder(deps),
        operationOf('createTag'),
      );
      const repetition = describeRepetition?.({
        key,
        caller: ownerAsCaller(club.owner.id),
        params: { clubId: club.id },
        querystring: '',
        body: Buffer.from(JSON.stringify(body)),
        now: new Date(),
      });
      expect(await repetition?.find()).to.equal(undefined);
      const first = await createTag(key, body.name);
      expect(await repetition?.findAfter(new Error('a fault'))).to.equal(undefined);
      const firstAnswer = { status: 201, headers: {}, body: first.body };
      expect(await repetition?.findAfter(new DomainError('name_taken', 'taken'))).to.deep.equal(firstAnswer);
    });
  });

  describe('with a key that another request has used', () => {
    it('is refused with 422 idempotency_key_reused, and changes nothing', async () => {
      const key = newKey();
      expect((await createTag(key, 'one')).status).to.equal(201);
      const before = await rowCounts();
      const token = club.owner.token;
      await eachCase(
        [
          ['POST', '/tags', { body: { name: 'two' } }],
          ['POST', '/tags', { raw: '{"name": "one"}' }],
          ['POST', '/levels', { body: { name: 'one', points: 77 } }],
          ['PATCH', `/students/${student.id}`, { body: { name: 'one' } }],
        ] as const,
        async ([method, path, sent]) =>
          expectError(await call(method, at(path), withKey(key, { token, ...sent })), 'idempotency_key_reused'),
      );
      expect(await rowCounts()).to.deep.equal(before);
    });
  });

  describe('with a generated body', () => {
    it('has the same fingerprint as another request only if both requests are equal', () => {
      const draw = new Draw(randomInt(2 ** 31));
      const keeping = withBody.filter(({ idempotency }) => idempotency === 'kept').slice(0, 20);
      const generated = keeping.map((operation) => ({
        operation,
        body: JSON.stringify(valueOf(draw, bodySchemaOf(operation))),
      }));
      const requests = new Map<string, string>();
      for (let count = 0; count < 3_000; count++) {
        const { operation, body } = draw.pick(generated);
        const params = { clubId: draw.pick(['a', 'b']) };
        const query = draw.pick(['', 'a=1', '1']);
        // Few bodies and short parts, so that many requests are equal.
        const bytes = Buffer.from(draw.pick([body, body.slice(0, 1), `${query}${body.slice(0, 1)}`, '']));
        const name = JSON.stringify([operation.operationId, params, query, bytes.toString()]);
        const fingerprint = fingerprintOf(operation, params, query, bytes).toString('hex');
        expect(requests.get(name) ?? fingerprint).to.equal(fingerprint);
        requests.set(name, fingerprint);
      }
      expect(new Set(requests.values()).size).to.equal(requests.size);
      expect(requests.size).to.be.within(200, 2_999);
    });
  });

  describe('to an operation that finds repetitions by itself', () => {
    const importFile = (key: string, fileName: string, raw = 'email,name\na@example.com,Ada\n') =>
      call(
        'POST',
        at(`/student-imports?file_name=${fileName}`),
        withKey(key, { token: club.owner.token, raw, headers: { 'content-type': 'text/csv' } }),
      );
    const importsOf = async () =>
      (await call('GET', at('/student-imports'), { token: club.owner.token })).body.data.map(
        ({ id }: { id: Id }) => id,
      );

    it('gets the import of the first request, even if the requests are simultaneous', async () => {
      const key = newKey();
      const answers = await Promise.all([1, 2, 3].map(() => importFile(key, 'a.csv')));
      const again = await importFile(key, 'a.csv', 'a file that is not read');
      const ids = [...answers, again].map(({ status, body }) => `${status} ${body.data.id}`);
      expect(new Set(ids).size).to.equal(1);
      expect(await importsOf()).to.deep.equal([again.body.data.id]);
      expect((await importFile(newKey(), 'a.csv')).body.data.id).not.to.equal(again.body.data.id);
    });

    it('is refused for another file name or in another club', async () => {
      const key = newKey();
      expect((await importFile(key, 'a.csv')).status).to.equal(202);
      expectError(await importFile(key, 'b.csv'), 'idempotency_key_reused');
      const other = await call('POST', '/v1/organizations', { token: club.owner.token, body: { name: 'Other' } });
      const path = `/v1/clubs/${other.body.data.organization_id}/student-imports?file_name=a.csv`;
      const file = { token: club.owner.token, raw: 'email,name\n', headers: { 'content-type': 'text/csv' } };
      expectError(await call('POST', path, withKey(key, file)), 'idempotency_key_reused');
    });

    it('is executed again if a repetition of the operation is harmless', async () => {
      const key = newKey();
      const body = { file_name: 'a.pdf', mime: 'application/pdf', size_bytes: 3 };
      const reserve = () => call('POST', at('/media'), withKey(key, { token: club.owner.token, body }));
      const [first, second] = [await reserve(), await reserve()];
      expect([first.status, second.status, isReplayed(second)]).to.deep.equal([201, 201, null]);
      expect(second.body.data.id).not.to.equal(first.body.data.id);
      expect(await rowsOf(key)).to.deep.equal([]);
    });
  });

  describe('with an invalid key', () => {
    it('is refused with 400 malformed_request, before its body is checked', async () => {
      const token = club.owner.token;
      await eachCase(['', 'x'.repeat(256), '"open', '"a" b', '"a";b=1', 'caf\u00e9', '"a\\b"', '""'], async (key) => {
        expectError(await call('POST', at('/tags'), withKey(key, { token, body: { name: '' } })), 'malformed_request');
      });
      expect((await createTag('x'.repeat(255), 'the longest key')).status).to.equal(201);
    });

    it('is refused if the header is sent twice', async () => {
      const { port } = await testApi();
      const status = await new Promise<number | undefined>((resolve, reject) => {
        const headers = [
          ['host', 'localhost'],
          ['authorization', `Bearer ${club.owner.token}`],
          ['content-type', 'application/json'],
          ['idempotency-key', 'one'],
          ['idempotency-key', 'two'],
        ].flat();
        const request = httpRequest({ port, method: 'POST', path: at('/tags'), headers }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        request.on('error', reject);
        request.end('{"name":"twice"}');
      });
      expect([status, await tagsOf('twice')]).to.deep.equal([400, 0]);
    });

    it('is ignored by operations that need no session', async () => {
      const body = { club_id: club.id, email: 'nobody@example.com' };
      expect((await call('POST', '/v1/auth/code', withKey('', { body }))).status).to.equal(202);
    });
  });

  describe('and its stored answer', () => {
    it('are stored encrypted or hashed', async () => {
      const [key, name] = [newKey(), `tag ${randomUUID()}`];
      await createTag(key, name);
      expect([await columnsHolding(key), await columnsHolding(name)]).to.deep.equal([
        [],
        ['tags.folded_name', 'tags.name'],
      ]);
    });

    it('cause 409 result_removed for a repetition if the answer is larger than 64 KB', async () => {
      const key = newKey();
      const { lessons } = await buildCourse(club.id);
      const content = 'x'.repeat(repetitionRules.answerBytes);
      const path = at(`/lessons/${lessons[0]?.id}`);
      const send = () => call('PATCH', path, withKey(key, { token: club.owner.token, body: { content } }));
      expect((await send()).status).to.equal(200);
      const before = await rowCounts();
      expectError(await send(), 'result_removed');
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('are deleted in batches after 24 hours', async () => {
      const key = newKey();
      await createTag(key, 'expires');
      const { db } = await testDeps();
      await removeExpiredAnswers(db, new Date());
      expect(await rowsOf(key)).to.have.length(1);
      const later = new Date(Date.now() + repetitionRules.keptMs + 60_000);
      const { rows, more } = await removeExpiredAnswers(db, later);
      expect(rows.idempotencyKeys).to.be.above(0);
      expect([more, await rowsOf(key)]).to.deep.equal([false, []]);
    });
  });

  describe('after the removal of a student', () => {
    it('gets 409 result_removed if its answer could contain data of the student', async () => {
      const removed = await buildStudent(club.id);
      const [ofStudent, about, other] = [newKey(), newKey(), newKey()];
      const send = (key: string, path: string, method: string, token: string, body: object) =>
        call(method, path, withKey(key, { token, body }));
      const own = () => send(ofStudent, '/v1/auth/session', 'PATCH', removed.token, { language: 'es' });
      const rename = () => send(about, at(`/students/${removed.id}`), 'PATCH', club.owner.token, { name: 'Ada' });
      const tag = () => send(other, at('/tags'), 'POST', club.owner.token, { name: 'stays' });
      for (const request of [own, rename, tag]) expect((await request()).status).to.be.below(300);
      expect((await call('DELETE', at(`/students/${removed.id}`), { token: club.owner.token })).status).to.equal(204);
      expect(await rowsOf(ofStudent)).to.deep.equal([]);
      expectError(await rename(), 'result_removed');
      expect([(await rowsOf(about))[0]?.answer, isReplayed(await tag())]).to.deep.equal([null, 'true']);
    });

    it('stores no answer if it read the student before the removal committed', async () => {
      const removed = await buildStudent(club.id);
      const key = newKey();
      const rename = () =>
        call('PATCH', at(`/students/${student.id}`), withKey(key, { token: club.owner.token, body: { name: 'Eve' } }));
      const remove = () => call('DELETE', at(`/students/${removed.id}`), { token: club.owner.token });
      // The request waits for its student after it has looked up its key. The removal of another student passes it.
      const lock = sql`SELECT FROM students WHERE id = ${student.id} FOR UPDATE`;
      const answers = await new Promise<[Answer, Answer]>((resolve, reject) => {
        const renamed: Promise<Answer>[] = [];
        withOpenTransaction(
          (tx) => tx.run(lock),
          async () => {
            renamed.push(rename());
            await new Promise((wake) => setTimeout(wake, 300));
            expect((await remove()).status).to.equal(204);
          },
        )
          .then(async () => resolve([(await renamed[0]) as Answer, await rename()]))
          .catch(reject);
      });
      expect(answers[0].status).to.equal(200);
      expectError(answers[1], 'result_removed');
    });
  });
});
