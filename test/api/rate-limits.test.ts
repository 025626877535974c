/** Tests the rate limits over HTTP, one rule at a time (LIM-1 to LIM-18). */
import { startApi, type ApiOptions, type RunningApi } from '../../api/server.ts';
import { contractOperations } from '../../contract/contract.ts';
import { ruleFor } from '../../api/rate-limits/rules.policy.ts';
import { buildClub, buildMember, buildStudent } from '../toolkit/builders/clubs.ts';
import { png } from '../toolkit/builders/pictures.ts';
import { put } from '../toolkit/drive/media.ts';
import { callAt, counterDeadlineMs, someAddress, testConfig, type Answer, type Call } from '../toolkit/drive/api.ts';
import { freePort, startRedis } from '../toolkit/stack/counter-stores.ts';
import { expect } from 'chai';
import { randomInt, randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';

const minute = 60;
const perBatch = 20;

interface Sent extends Call {
  readonly method: string;
  readonly path: string;
}

describe('rate limits', function () {
  this.timeout(60_000);
  /** Noon of a day that is random in each run. A minute and an hour begin at noon. */
  const noon = Date.UTC(2025, 0, randomInt(300), 12);
  let now = noon;
  let api: RunningApi;

  const start = async (overrides: Record<string, string> = {}, options: ApiOptions = { counterDeadlineMs }) =>
    startApi(await testConfig(overrides), { clock: () => new Date(now), ...options });

  before(async () => {
    api = await start();
  });
  after(() => api.stop());
  beforeEach(() => {
    now = noon;
  });

  const send = ({ method, path, ...options }: Sent, to = api): Promise<Answer> =>
    callAt(`http://127.0.0.1:${to.port}`, method, path, method === 'POST' ? { body: {}, ...options } : options);

  /** @returns the number of calls for each outcome, such as `401 unauthenticated` */
  const times = async (n: number, request: Sent, to = api): Promise<Record<string, number>> => {
    const counts: Record<string, number> = {};
    for (let remaining = n; remaining > 0; remaining -= perBatch) {
      const batch = Array.from({ length: Math.min(perBatch, remaining) }, () => send(request, to));
      for (const { status, body } of await Promise.all(batch)) {
        const outcome = [status, body?.error?.code].join(' ').trim();
        counts[outcome] = (counts[outcome] ?? 0) + 1;
      }
    }
    return counts;
  };

  const expectLimited = async (request: Sent, retryAfter: number, to = api) => {
    const { status, body, headers } = await send(request, to);
    expect([status, body.error.code, headers.get('retry-after')]).to.deep.equal([
      429,
      'rate_limited',
      String(retryAfter),
    ]);
  };

  const endpointsOf = (clubId: string) => `/v1/clubs/${clubId}/webhook-endpoints`;
  const questionsOf = (clubId: string) => `/v1/clubs/${clubId}/classroom/agents/a1/messages`;
  const signUpOf = (clubId: string) => `/v1/clubs/${clubId}/classroom/sign-up`;
  const post = (path: string, options: Call = {}): Sent => ({ method: 'POST', path, ...options });
  const ofStudent = async (path: (clubId: string) => string): Promise<Sent> => {
    const club = await buildClub();
    return post(path(club.id), { token: (await buildStudent(club.id)).token });
  };

  /**
   * Each row contains the test's name, the limit, the answer within the limit, and the call. The API counts each call and then refuses it
   * for another reason, so the calls are cheap.
   */
  const rows: readonly [string, number, string, () => Sent | Promise<Sent>][] = [
    [
      'Write operations on /v1/clubs/{clubId}/...: 60 per minute per club',
      60,
      '400 malformed_request',
      async () => {
        const club = await buildClub();
        return post(endpointsOf(club.id), { token: club.owner.token });
      },
    ],
    [
      'Writes that the role does not permit: 60 per minute per club',
      60,
      '403 role_not_permitted',
      async () => {
        const club = await buildClub();
        return post(endpointsOf(club.id), { token: (await buildMember(club.id, 'support')).token });
      },
    ],
    [
      'Write operations elsewhere: 60 per minute per IP',
      60,
      '401 unauthenticated',
      () => post('/v1/organizations', { ip: someAddress() }),
    ],
    [
      'POST /v1/auth/*: 10 per minute per IP',
      10,
      '400 malformed_request',
      () => post('/v1/auth/sign-in', { ip: someAddress() }),
    ],
    [
      'POST /v1/auth/admin/*: 10 per minute per IP',
      10,
      '400 malformed_request',
      () => post('/v1/auth/admin/sign-in', { ip: someAddress() }),
    ],
    [
      'POST /v1/auth/* without an operation: 10 per minute per IP',
      10,
      '404 not_found',
      () => post('/v1/auth/no-such-thing', { ip: someAddress() }),
    ],
    [
      'Classroom sign-up: 10 per minute per IP',
      10,
      '403 forbidden',
      () => post(signUpOf(randomUUID()), { ip: someAddress() }),
    ],
    [
      'DELETE /v1/auth/session has the limit “Write operations elsewhere”: 60 per minute per IP',
      60,
      '401 unauthenticated',
      () => ({ method: 'DELETE', path: '/v1/auth/session', ip: someAddress() }),
    ],
    [
      'POST /webhooks/{platform}/{token}: 600 per minute per IP',
      600,
      '404 not_found',
      () => post('/webhooks/platform1/token1', { ip: someAddress() }),
    ],
    [
      'POST /webhooks/billing has the limit “Write operations elsewhere”: 60 per minute per IP',
      60,
      '501 not_configured',
      () => post('/webhooks/billing', { ip: someAddress() }),
    ],
    [
      'Classroom writes: 600 per minute per student',
      600,
      '400 malformed_request',
      () => ofStudent((clubId) => `/v1/clubs/${clubId}/classroom/assignment-files`),
    ],
    [
      'A student’s write on a path of the club: 30 per minute per student (DEC-53)',
      30,
      '404 not_found',
      () => ofStudent((clubId) => `/v1/clubs/${clubId}/media/${randomUUID()}/complete`),
    ],
    ['Agent question: 20 per minute per student', 20, '400 malformed_request', () => ofStudent(questionsOf)],
    [
      'Classroom writes of unknown callers to unknown paths: 60 per minute per IP',
      60,
      '404 not_found',
      () => post(`/v1/clubs/${randomUUID()}/classroom/no-such-place/m1`, { ip: someAddress() }),
    ],
  ];

  describe('refuse every call above the limit until the window ends', () => {
    for (const [row, limit, within, make] of rows) {
      it(row, async () => {
        const request = await make();
        now = noon + 15_000;
        expect(await times(limit, request)).to.deep.equal({ [within]: limit });
        await expectLimited(request, 45);
        now = noon + 59_001;
        await expectLimited(request, 1);
        now = noon + 60_000; // Two early retries have consumed two calls of this window.
        expect(await times(limit - 2, request)).to.deep.equal({ [within]: limit - 2 });
        await expectLimited(request, 60);
      });
    }
  });

  it('do not limit reads', async () => {
    const club = await buildClub();
    const read: Sent = { method: 'GET', path: `/v1/clubs/${club.id}/students`, ip: someAddress() };
    expect(await times(700, read)).to.deep.equal({ '401 unauthenticated': 700 });
    expect(await times(100, { ...read, token: club.owner.token })).to.deep.equal({ 200: 100 });
  });

  it('do not count GET and DELETE /v1/auth/session against the credential limit', async () => {
    const club = await buildClub();
    const { token } = await buildStudent(club.id);
    const ip = someAddress();
    await times(10, post('/v1/auth/sign-in', { ip }));
    await expectLimited(post('/v1/auth/verify-email', { ip }), minute);
    expect(await times(1, { method: 'GET', path: '/v1/auth/session', ip, token })).to.deep.equal({ 200: 1 });
    expect(await times(1, { method: 'DELETE', path: '/v1/auth/session', ip, token })).to.deep.equal({ 204: 1 });
  });

  it('count each club and each student separately', async () => {
    const [first, second] = [await buildClub(), await buildClub()];
    await times(60, post(endpointsOf(first.id), { token: first.owner.token }));
    const colleague = await buildMember(first.id, 'admin');
    expect(await times(15, post(endpointsOf(first.id), { token: colleague.token })), 'their share').to.deep.equal({
      '400 malformed_request': 15,
    });
    await expectLimited(post(endpointsOf(first.id), { token: colleague.token }), minute);
    expect(await times(1, post(endpointsOf(second.id), { token: second.owner.token }))).to.deep.equal({
      '400 malformed_request': 1,
    });

    const asking = await buildStudent(first.id);
    await times(20, post(questionsOf(first.id), { token: asking.token }));
    await expectLimited(post(questionsOf(first.id), { token: asking.token }), minute);
    const other = await buildStudent(first.id);
    expect(await times(1, post(questionsOf(first.id), { token: other.token }))).to.deep.equal({
      '400 malformed_request': 1,
    });
  });

  it('do not count a student’s calls about unknown files as writes of the club (DEC-53)', async () => {
    const club = await buildClub();
    const { token } = await buildStudent(club.id);
    const complete = () => post(`/v1/clubs/${club.id}/media/${randomUUID()}/complete`, { token });
    const counts = await Promise.all(Array.from({ length: 125 }, () => times(1, complete())));
    const outcomes = counts.flatMap((count) => Object.keys(count));
    expect(outcomes.filter((outcome) => outcome === '404 not_found')).to.have.length(30);
    expect(outcomes.filter((outcome) => outcome === '429 rate_limited')).to.have.length(95);
    expect(await times(60, post(endpointsOf(club.id), { token: club.owner.token }))).to.deep.equal({
      '400 malformed_request': 60,
    });
  });

  it('count a student’s completed image against the club’s limit (DEC-53)', async () => {
    const club = await buildClub();
    const { token } = await buildStudent(club.id);
    const image = png();
    const body = { file_name: 'knot.png', mime: 'image/png', size_bytes: image.length };
    const complete = (id: string) => post(`/v1/clubs/${club.id}/media/${id}/complete`, { token });
    const arrived: string[] = [];
    for (let n = 0; n < 6; n += 1) {
      const reserved = await send(post(`/v1/clubs/${club.id}/classroom/agent-images`, { token, body }));
      expect(await put(reserved.body.upload, image)).to.equal(200);
      arrived.push(reserved.body.data.id);
    }
    const [last = '', later = '', ...inShare] = arrived;
    await times(60, post(endpointsOf(club.id), { token: club.owner.token }));
    for (const id of inShare) expect((await send(complete(id))).body.data).to.include({ status: 'processing' });
    await expectLimited(complete(last), minute);
    expect(await times(1, complete(randomUUID()))).to.deep.equal({ '404 not_found': 1 });
    now = noon + 60_000;
    for (const id of [last, later]) expect((await send(complete(id))).body.data).to.include({ status: 'processing' });
    expect(await times(60, post(endpointsOf(club.id), { token: club.owner.token }))).to.deep.equal({
      '400 malformed_request': 58, // The two images count too. The call that was refused before counts only for the student.
      '429 rate_limited': 2,
    });
  });

  it('still let the owner remove an editor who has used up the club’s writes (LIM-25)', async () => {
    const club = await buildClub();
    const editor = await buildMember(club.id, 'editor');
    const invited = { email: 'someone@example.com', role: 'editor' };
    const open = await send(post(`/v1/clubs/${club.id}/members`, { token: club.owner.token, body: invited }));
    for (const window of [noon, noon + 60_000, noon + 120_000]) {
      now = window;
      await times(180, post(endpointsOf(club.id), { token: editor.token }));
    }
    const revoke = `/v1/clubs/${club.id}/invitations/${open.body.data.invitation_id}`;
    const member = `/v1/clubs/${club.id}/members/${editor.id}`;
    const { token } = club.owner;
    expect((await send({ method: 'PATCH', path: member, token, body: { role: 'support' } })).status).to.equal(200);
    expect((await send({ method: 'DELETE', path: revoke, token })).status).to.equal(204);
    expect((await send({ method: 'DELETE', path: member, token })).status).to.equal(204);
    expect(await times(1, post(endpointsOf(club.id), { token: editor.token }))).to.deep.equal({ '403 forbidden': 1 });
  });

  describe('the limit of refused calls per IP address', () => {
    it('causes 429 instead of 401 or 403, and does not use up the club’s 60 writes', async () => {
      const [club, elsewhere] = [await buildClub(), await buildClub()];
      const student = await buildStudent(club.id);
      const ip = someAddress();
      const path = endpointsOf(club.id);
      expect(await times(20, post(path, { ip }))).to.deep.equal({ '401 unauthenticated': 20 });
      expect(await times(20, post(path, { ip, token: elsewhere.owner.token }))).to.deep.equal({ '403 forbidden': 20 });
      expect(await times(20, post(path, { ip, token: student.token }))).to.deep.equal({ '401 unauthenticated': 20 });
      await expectLimited(post(path, { ip }), minute);
      await expectLimited(post(path, { ip, token: elsewhere.owner.token }), minute);
      expect(await times(60, post(path, { ip, token: club.owner.token }))).to.deep.equal({
        '400 malformed_request': 60,
      });
    });

    it('does not count refused calls to another club as questions of the student', async () => {
      const [club, elsewhere] = [await buildClub(), await buildClub()];
      const { token } = await buildStudent(club.id);
      const ip = someAddress();
      expect(await times(60, post(questionsOf(elsewhere.id), { ip, token }))).to.deep.equal({ '403 forbidden': 60 });
      await expectLimited(post(questionsOf(elsewhere.id), { ip, token }), minute);
      expect(await times(20, post(questionsOf(club.id), { ip, token }))).to.deep.equal({ '400 malformed_request': 20 });
    });
  });

  describe('raw HTTP requests', () => {
    /** Sends the path as it stands. @returns the status, which may come before the body was sent */
    const statusOf = (path: string, ip: string, body: string | undefined): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const headers = { 'Content-Type': 'application/json', 'Content-Length': '2', 'X-Forwarded-For': ip };
        const raw = httpRequest({ agent: false, host: '127.0.0.1', port: api.port, method: 'POST', path, headers });
        raw.on('error', reject);
        raw.on('response', (answer) => {
          resolve(answer.statusCode);
          raw.destroy();
        });
        if (body === undefined) raw.flushHeaders();
        else raw.end(body);
      });

    it('get 429 before their body arrives, if they exceed the limit of credential calls', async () => {
      const ip = someAddress();
      await times(10, post('/v1/auth/sign-in', { ip }));
      expect(await statusOf('/v1/auth/sign-in', ip, undefined)).to.equal(429);
    });

    const spellings: readonly [string, (path: string) => string][] = [
      ['upper case', (path) => path.toUpperCase()],
      ['a trailing slash', (path) => `${path}/`],
      ['doubled slashes', (path) => path.replaceAll('/', '//')],
      ['percent-encoding', (path) => path.replaceAll('i', '%69')],
      ['a query', (path) => `${path}?next=/v1/me`],
      ['a fragment', (path) => `${path}#x`],
      ['the absolute form', (path) => `http://127.0.0.1:${api.port}${path}`],
      ['the absolute form with a query', (path) => `http://127.0.0.1:${api.port}${path}?a=b`],
      ['backslashes, which lenient parsers turn into slashes', (path) => `/${path.slice(1).replaceAll('/', '\\')}#x`],
    ];
    for (const [title, respell] of spellings) {
      it(`count against one limit for every spelling of a path: ${title}`, async () => {
        for (const path of [signUpOf(randomUUID()), '/v1/auth/sign-in']) {
          const ip = someAddress();
          await times(10, post(path, { ip }));
          expect(await statusOf(respell(path), ip, '{}'), respell(path)).to.equal(429);
        }
      });
    }
  });

  describe('the client’s address', () => {
    it('is the rightmost untrusted address in X-Forwarded-For behind a trusted proxy', async () => {
      const proxied = await start({ TRUSTED_PROXIES: '127.0.0.0/8,192.0.2.0/24' });
      const ip = someAddress();
      const signIn = () => post('/v1/auth/sign-in', { ip: `${someAddress()}, ${ip}, 192.0.2.1` });
      for (let n = 0; n < 10; n += 1) await send(signIn(), proxied);
      await expectLimited(signIn(), minute, proxied);
      await proxied.stop();
    });

    it('is the address of the peer without a trusted proxy, for any header', async () => {
      const direct = await start({ TRUSTED_PROXIES: '' });
      for (let n = 0; n < 10; n += 1) await send(post('/v1/auth/sign-in'), direct);
      await expectLimited(post('/v1/auth/sign-in'), minute, direct);
      await direct.stop();
    });
  });

  for (const store of ['postgres', 'redis'] as const)
    describe(`rate limits while the counters in ${store} are unavailable`, () => {
      let blind: RunningApi;
      before(async () => {
        blind = await start({ RATE_LIMIT_URL: `${store}://127.0.0.1:${await freePort()}/0` }, {});
      });
      after(() => blind.stop());

      it('answer classroom credential routes with 503 rate_limit_unavailable', async () => {
        const paths = ['/v1/auth/sign-in', '/v1/auth/verify-email', '/v1/auth/code/exchange', signUpOf(randomUUID())];
        for (const path of paths) {
          expect(await times(3, post(path), blind), path).to.deep.equal({ '503 rate_limit_unavailable': 3 });
        }
      });

      it('allow 3 calls a minute per address and process on credential routes of administrators', async () => {
        const signIn = post('/v1/auth/admin/sign-in', { ip: someAddress() });
        expect(await times(3, signIn, blind)).to.deep.equal({ '400 malformed_request': 3 });
        await expectLimited(signIn, minute, blind);
      });

      it('let all other writes pass', async () => {
        const club = await buildClub();
        const ip = someAddress();
        const passing: readonly [Sent, string][] = [
          [post(endpointsOf(club.id), { token: club.owner.token }), '400 malformed_request'],
          [post(endpointsOf(club.id), { ip }), '401 unauthenticated'],
          [{ method: 'DELETE', path: '/v1/auth/session', ip }, '401 unauthenticated'],
          [post('/webhooks/platform1/token1', { ip }), '404 not_found'],
        ];
        for (const [write, outcome] of passing) {
          expect(await times(70, write, blind), write.path).to.deep.equal({ [outcome]: 70 });
        }
      });
    });

  it('give the same answers with counters in Redis as with counters in Postgres', async () => {
    const redis = await startRedis();
    const withRedis = await start({ RATE_LIMIT_URL: redis.url.reveal() });
    const signIn = post('/v1/auth/sign-in', { ip: someAddress() });
    expect(await times(10, signIn, withRedis)).to.deep.equal({ '400 malformed_request': 10 });
    await expectLimited(signIn, minute, withRedis);
    await withRedis.stop();
    await redis.stop();
  });
});

describe('the rate limits of the contract’s operations', () => {
  it('count two operations of students for the whole club (DEC-53)', () => {
    const perClub = contractOperations().filter(
      ({ method, path, auth }) =>
        auth.includes('student') &&
        ruleFor({ method, path: path.replaceAll(/\{\w+\}/g, randomUUID()) })?.scope === 'club',
    );
    expect(perClub.map(({ operationId }) => operationId)).to.deep.equal(['completeMedia', 'renewUpload']);
  });

  it('apply to exactly the operations that write, and the contract declares 429 for them', () => {
    for (const { operationId, method, path, errorCodes } of contractOperations()) {
      const rule = ruleFor({ method, path: path.replaceAll(/\{\w+\}/g, randomUUID()) });
      expect(rule !== undefined, operationId).to.equal(method !== 'get');
      // Four reads are also limited: event streams (DEC-58), and what is large and needs no session (LIM-29, ERS-32).
      const bounded = ['reattachAnswer', 'streamWebhookEvents', 'showCampaignPreview', 'getErasureProof'];
      const isBounded = rule !== undefined || bounded.includes(operationId);
      expect(errorCodes.includes('rate_limited'), operationId).to.equal(isBounded);
      const tryFactors = ['finishAdministratorSignIn', 'proveIdentity']; // six digits can be guessed (DEC-262)
      const isRefused = rule?.whenDown === 'refuse' || tryFactors.includes(operationId);
      expect(errorCodes.includes('rate_limit_unavailable'), operationId).to.equal(isRefused);
    }
  });
});
