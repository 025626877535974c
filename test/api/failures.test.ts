/** Tests that internal failures show no stack, SQL, path or personal data to callers and operators. */
import { Database } from '../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import type { ApiDeps } from '../../api/middleware/context.ts';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { lockStudentCount } from '../../domain/billing/allowances.ts';
import { buildClub, password, type TestClub } from '../toolkit/builders/clubs.ts';
import { issueTokens, tokenText } from '../../domain/mail/codes/one-time-tokens.ts';
import { studentAccounts } from '../toolkit/drive/accounts.ts';
import { call, callAt, expectError, type Answer } from '../toolkit/drive/api.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../toolkit/drive/races.ts';
import { serveApp, type ServedApp } from '../toolkit/stack/app.ts';
import { rowCounts, testDatabase, testDeps } from '../toolkit/stack/database.ts';

/** These texts must not be in an answer or in the log: file paths, the SQL statement, the caller's own data. */
const betraying =
  /node_modules|file:\/\/|\/(?:domain|platform)\/|\.ts:\d|\bat \w+ \(|SELECT|INSERT|UPDATE|relation|syntax|constraint/i;

describe('500 for an internal failure', () => {
  const email = `somebody-${newId()}@example.com`;
  let api: ServedApp;
  let clubId: string;
  before('an API whose statements fail inside Postgres', async () => {
    clubId = (await buildClub()).id;
    api = await serveApp({ deps: withBrokenDatabase });
  });
  after(() => api.close());

  const signUp = () =>
    callAt(api.base, 'POST', `/v1/clubs/${clubId}/classroom/sign-up`, {
      body: { name: 'Rosalind Secret', email, password },
      headers: { 'x-request-id': 'the-request-1' },
    });

  it('returns the error envelope with the request id and without internals', async () => {
    const answer = await signUp();
    expectError(answer, 'internal_error');
    expect(answer.body.error.message).to.equal('Something went wrong on our side. Request id: the-request-1');
    expect(answer.headers.get('x-request-id')).to.equal('the-request-1');
    expect(answer.text).to.not.match(betraying);
    expect(answer.text).to.not.include(email);
  });

  it('logs name, code and source location of the error with the request id, but no data and no SQL', async () => {
    await signUp();
    const lines = api.log.map((line) => JSON.parse(line) as Record<string, unknown>);
    const failed = lines.find(({ msg, request_id: id }) => msg === 'request failed' && id === 'the-request-1');
    const error = (failed ?? {})['error'] as { frames: string[] };
    expect(error).to.include({ name: 'QueryFailedError', code: '22P02' });
    expect(error.frames.join('\n')).to.match(/domain\/clubs\/organizations\.ts:\d+/);
    const text = api.log.join('');
    await eachCase([email, 'Rosalind', password, clubId, 'the quoted row', '::uuid', process.cwd()], (secret) =>
      expect(text).to.not.include(secret),
    );
  });

  it('logs the route’s pattern, and neither the path nor the query', async () => {
    await callAt(api.base, 'GET', `/v1/clubs/${clubId}/students?q=${encodeURIComponent(email)}`);
    await callAt(api.base, 'POST', `/webhooks/platform/a-token-in-the-path`, { body: {} });
    const routes = api.log
      .map((line) => JSON.parse(line) as { msg: string; route: string })
      .filter(({ msg }) => msg === 'request')
      .map(({ route }) => route);
    expect(routes).to.include.members(['/v1/clubs/{clubId}/students', '/webhooks/{platform}/{token}']);
    const text = api.log.join('');
    await eachCase([email, encodeURIComponent(email), 'a-token-in-the-path', clubId], (secret) =>
      expect(text).to.not.include(secret),
    );
  });

  it('logs no token', async () => {
    const token = `cls_${'T'.repeat(43)}`;
    await callAt(api.base, 'GET', '/v1/auth/session', { token });
    await callAt(api.base, 'POST', '/v1/auth/verify-email', { body: { token: 'a-token-of-a-mail' } });
    expect(api.log.join('')).to.not.include('TTTT').and.not.include('a-token-of-a-mail');
  });
});

/** Makes each read of a club fail with a Postgres error whose message quotes the row. */
function withBrokenDatabase(usual: ApiDeps): ApiDeps {
  const { db } = usual.deps;
  const broken = (sql: string) => `SELECT 'the quoted row'::uuid /* ${sql.replaceAll('*/', '')} */`;
  const manager = new Proxy(db.source.manager, {
    get: (target, name) =>
      name === 'query' ? (sql: string) => target.query(broken(sql)) : (Reflect.get(target, name) as unknown),
  });
  const source = new Proxy(db.source, {
    get: (target, name) => {
      if (name === 'manager') return manager;
      if (name === 'query') return (sql: string) => target.query(broken(sql));
      return Reflect.get(target, name) as unknown;
    },
  });
  return { ...usual, deps: { ...usual.deps, db: new Database(source, db.notifier) } };
}

describe('a transaction that fails midway', () => {
  it('changes no table, and returns 500', async () => {
    const source = await testDatabase();
    const club = await buildClub();
    const name = `refuse_mails_${newId().replaceAll('-', '')}`;
    const before = await rowCounts();
    // The last statement of a student's creation inserts the mail. The trigger makes the insertion fail.
    await source.query(`CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN IF NEW.club_id = '${club.id}' THEN RAISE EXCEPTION 'no mail'; END IF; RETURN NEW; END $$`);
    await source.query(
      `CREATE TRIGGER ${name} BEFORE INSERT ON transactional_mails FOR EACH ROW EXECUTE FUNCTION ${name}()`,
    );
    try {
      const email = `${newId()}@example.com`;
      const created = await call('POST', `/v1/clubs/${club.id}/students`, {
        token: club.owner.token,
        body: { name: 'Ada', email },
      });
      expectError(created, 'internal_error');
      const signedUp = await call('POST', `/v1/clubs/${club.id}/classroom/sign-up`, {
        body: { name: 'Ada', email, password },
      });
      expectError(signedUp, 'internal_error');
      const invited = await call('POST', `/v1/clubs/${club.id}/members`, {
        token: club.owner.token,
        body: { email, role: 'support' },
      });
      expectError(invited, 'internal_error');
    } finally {
      await source.query(`DROP TRIGGER ${name} ON transactional_mails`);
      await source.query(`DROP FUNCTION ${name}`);
    }
    expect(await rowCounts()).to.deep.equal(before);
  });
});

describe('503 busy while other requests hold a lock or connections (ENG-17)', () => {
  const create = (club: TestClub) =>
    call('POST', `/v1/clubs/${club.id}/students`, {
      token: club.owner.token,
      body: { name: 'Ada', email: `${newId()}@example.com` },
    });

  /** Returns tokens with which students confirm their sign-up. Confirmed students count towards the plan's limit. */
  async function tokensToConfirm({ id: clubId }: TestClub, count: number): Promise<string[]> {
    const [source, { vault }] = [await testDatabase(), await testDeps()];
    const ids = Array.from({ length: count }, newId);
    await source.query(
      `INSERT INTO students (id, club_id, name, email, opened_by, created_at)
       SELECT id, $1, 'Ada', id || '@example.com', 'sign_up', now() FROM unnest($2::uuid[]) AS id`,
      [clubId, ids],
    );
    const tokenIds = await new Database(source, { notify() {} }).transaction((tx) =>
      issueTokens(tx, vault, 'student_verify_email', ids, new Date()),
    );
    return tokenIds.map((id) => tokenText(vault, 'student_verify_email', id));
  }
  const waiting: Record<string, (club: TestClub) => Promise<(() => Promise<Answer>)[]>> = {
    creations: async (club) => Array.from({ length: 25 }, () => () => create(club)),
    confirmations: async (club) =>
      (await tokensToConfirm(club, 25)).map((token) => () => studentAccounts(club.id).verify(token)),
  };
  for (const [name, requestsOf] of Object.entries(waiting)) {
    it(`is not the answer to another club while 25 ${name} of one club wait for a lock`, async () => {
      const [club, other] = [await buildClub(), await buildClub()];
      const requests = await requestsOf(club);
      let answers: Promise<Answer>[] = [];
      await withOpenTransaction(
        (tx) => lockStudentCount(tx, club.id),
        async () => {
          answers = requests.map((request) => request());
          await untilWaitingForLocks(10);
          const answer = await call('GET', `/v1/clubs/${other.id}/students`, { token: other.owner.token });
          expect(answer.status).to.equal(200);
        },
      );
      const succeeded = (await Promise.all(answers)).filter(({ status }) => status < 300);
      expect(succeeded).to.have.length(requests.length);
    });
  }

  it('is returned with Retry-After if a request waits too long for a lock, and then nothing is written', async () => {
    const source = await testDatabase();
    const club = await buildClub();
    const name = `lock_mails_${newId().replaceAll('-', '')}`;
    await source.query(`CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW.club_id = '${club.id}' THEN RAISE EXCEPTION 'no lock' USING ERRCODE = '55P03'; END IF; RETURN NEW; END $$`);
    await source.query(
      `CREATE TRIGGER ${name} BEFORE INSERT ON transactional_mails FOR EACH ROW EXECUTE FUNCTION ${name}()`,
    );
    const before = await rowCounts();
    let answer: Answer;
    try {
      answer = await create(club);
    } finally {
      await source.query(`DROP TRIGGER ${name} ON transactional_mails`);
      await source.query(`DROP FUNCTION ${name}`);
    }
    expectError(answer, 'busy');
    expect(answer.headers.get('retry-after')).to.equal('5');
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('is returned after a wait of 5 s for the lock, before the shortest lease (10 s) ends', async () => {
    const [row] = await (await testDatabase()).query<{ lock_timeout: string }[]>('SHOW lock_timeout');
    expect(row?.lock_timeout).to.equal('5s');
  });
});
