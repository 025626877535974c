/** Tests which counter a call is charged to, rule by rule (LIM-1 to LIM-11), on a real Postgres. */
import { randomInt, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { Secret } from '../../../platform/core/secret.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { admit, admitChange, type Call } from '../../../api/rate-limits/admission.ts';
import { createLimiter, type Limiter } from '../../../api/rate-limits/limiter.ts';
import { freePort, masterKey, migratedPostgres, type Store } from '../../toolkit/stack/counter-stores.ts';

const noon = Date.UTC(2025, 0, 1, 12, 0, 0);
const minute = 60;
const hour = 3_600;

const anyIp = () => `198.${randomInt(18, 20)}.${randomInt(256)}.${randomInt(256)}`;
const student = () => ({ kind: 'student', id: randomUUID() }) as const;
const admin = () => ({ kind: 'admin', id: randomUUID() }) as const;

/** Creates a call of an unknown caller. Each test changes the fields that it tests. */
const call = (method: string, path: string, over: Partial<Call> = {}): Call => ({
  method,
  path,
  ip: anyIp(),
  caller: undefined,
  clubId: undefined,
  refused: false,
  ...over,
});

/** Creates a call on a path of a club, by a member or a student of this club. */
const inClub = (method: string, path: string, caller: Call['caller'], clubId: string = randomUUID()): Call =>
  call(method, `/v1/clubs/${clubId}${path}`, { caller, clubId });

const limited = (retryAfterSeconds: number) => `429 rate_limited ${retryAfterSeconds}`;
const signIn = (ip: string) => call('POST', '/v1/auth/sign-in', { ip });

describe('admission of calls', function () {
  this.timeout(60_000);
  let store: Store;
  let limiter: Limiter;
  let down: Limiter;

  before(async () => {
    store = await migratedPostgres();
    limiter = createLimiter({ url: store.url, masterKey, clock: Date.now, onFailure: () => undefined });
    await limiter.ready();
    const url = new Secret(`postgres://127.0.0.1:${await freePort()}/nothing`);
    down = createLimiter({ url, masterKey, clock: Date.now, onFailure: () => undefined });
  });
  after(async () => {
    await limiter.close();
    await down.close();
    await store.stop();
  });

  /** @returns 'passes', or the status, code and Retry-After of the refusal */
  const outcome = async (of: Call, now = noon, by = limiter, charge = admit): Promise<string> => {
    try {
      await charge(by, of, now);
      return 'passes';
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      return [error.status, error.code, error.headers.retryAfterSeconds].join(' ').trim();
    }
  };
  const passes = async (times: number, of: Call, now = noon) => {
    for (let n = 1; n <= times; n += 1)
      expect(await outcome(of, now), `${of.method} ${of.path}, call ${n} of ${times}`).to.equal('passes');
  };

  /** Each row contains the test's name, the limit, the window in seconds, and the call. */
  const table: readonly [string, number, number, () => Call][] = [
    [
      'Write operations on /v1/clubs/{clubId}/...: 60 per minute per club',
      60,
      minute,
      () => inClub('POST', '/webhook-endpoints', admin()),
    ],
    [
      'Write operations elsewhere: 60 per minute per IP',
      60,
      minute,
      () => call('PATCH', '/v1/me', { caller: admin() }),
    ],
    ['POST /v1/auth/*: 10 per minute per IP', 10, minute, () => call('POST', '/v1/auth/sign-in')],
    ['POST /v1/auth/admin/*: 10 per minute per IP', 10, minute, () => call('POST', '/v1/auth/admin/sign-in')],
    [
      'Classroom sign-up: 10 per minute per IP',
      10,
      minute,
      () => call('POST', `/v1/clubs/${randomUUID()}/classroom/sign-up`),
    ],
    [
      'DELETE /v1/auth/session has the limit “Write operations elsewhere”: 60 per minute per IP',
      60,
      minute,
      () => call('DELETE', '/v1/auth/session'),
    ],
    [
      'POST /webhooks/{platform}/{token}: 600 per minute per IP',
      600,
      minute,
      () => call('POST', '/webhooks/platform1/token1'),
    ],
    [
      'POST /webhooks/billing has the limit “Write operations elsewhere”: 60 per minute per IP',
      60,
      minute,
      () => call('POST', '/webhooks/billing'),
    ],
    [
      'Test mails of campaigns: 20 per hour per club',
      20,
      hour,
      () => inClub('POST', `/campaigns/${randomUUID()}/test-mails`, admin()),
    ],
    [
      'Imports of suppressions: 20 per hour per club',
      20,
      hour,
      () => inClub('POST', '/mail/suppressions/import', admin()),
    ],
    ['Settings of a mail domain: 30 per hour per club', 30, hour, () => inClub('PUT', '/mail/domain', admin())],
    [
      'Classroom writes: 600 per minute per student',
      600,
      minute,
      () => inClub('POST', '/classroom/assignment-files', student()),
    ],
    [
      'Exports of the own data: 10 per hour per student',
      10,
      hour,
      () => inClub('POST', '/classroom/exports', student()),
    ],
    [
      'Publish comment on a lesson: 10 per minute per student',
      10,
      minute,
      () => inClub('POST', '/classroom/lessons/l1/comments', student()),
    ],
    [
      'Publish comment on a post: 10 per minute per student',
      10,
      minute,
      () => inClub('POST', '/classroom/posts/p1/comments', student()),
    ],
    [
      'Publish community post: 20 per hour per student',
      20,
      hour,
      () => inClub('POST', `/classroom/community/spaces/${randomUUID()}/posts`, student()),
    ],
    [
      'Book a mentorship session: 30 per hour per student',
      30,
      hour,
      () => inClub('POST', '/classroom/mentorships/m1/bookings', student()),
    ],
    [
      'Cancel a mentorship session: 30 per hour per student',
      30,
      hour,
      () => inClub('DELETE', `/classroom/mentorships/m1/sessions/${randomUUID()}`, student()),
    ],
    [
      'Agent question: 20 per minute per student',
      20,
      minute,
      () => inClub('POST', '/classroom/agents/a1/messages', student()),
    ],
    [
      'Reactions and edits have the limit “Classroom writes”: 600 per minute per student',
      600,
      minute,
      () => inClub('PATCH', '/classroom/posts/p1/comments/c1', student()),
    ],
    [
      'Mentorship agenda and rating have the limit “Classroom writes”: 600 per minute per student',
      600,
      minute,
      () => inClub('PUT', '/classroom/mentorships/m1/agenda', student()),
    ],
    [
      'A path without a handler: 60 per minute per club, like other writes',
      60,
      minute,
      () => inClub('PUT', '/not/built/yet', admin()),
    ],
  ];

  describe('allows calls up to the limit, and charges refused calls to the next window', () => {
    for (const [row, limit, windowSeconds, make] of table) {
      it(row, async () => {
        const one = make();
        await passes(limit, one);
        expect(await outcome(one)).to.equal(limited(windowSeconds));
        const nextWindow = noon + windowSeconds * 1_000;
        expect(await outcome(one, nextWindow - 1)).to.equal(limited(1));
        await passes(limit - 2, one, nextWindow); // the two refused calls were charged to this next window
        expect(await outcome(one, nextWindow)).to.equal(limited(windowSeconds));
      });
    }
  });

  it('limits no reads, not even refused ones', async () => {
    for (const path of ['/v1/auth/session', '/v1/me', `/v1/clubs/${randomUUID()}/students`]) {
      await passes(100, call('GET', path, { refused: true }));
    }
  });

  describe('a call', () => {
    it('is charged to its club for any administrator and any spelling of the club’s id', async () => {
      const clubId = randomUUID();
      const third = admin();
      await passes(30, inClub('POST', '/campaigns', admin(), clubId));
      await passes(30, inClub('DELETE', `/media/${randomUUID()}`, admin(), clubId.toUpperCase()));
      await passes(15, inClub('POST', '/campaigns', third, clubId)); // each caller may still make 15 calls
      expect(await outcome(inClub('POST', '/campaigns', third, clubId))).to.equal(limited(minute));
      await passes(1, inClub('POST', '/campaigns', admin()));
    });

    it('is charged to its student, and not to other students of the club', async () => {
      const clubId = randomUUID();
      const someone = student();
      const question = () => inClub('POST', '/classroom/agents/a1/messages', someone, clubId);
      await passes(20, question());
      expect(await outcome(question())).to.equal(limited(minute));
      await passes(1, inClub('POST', '/classroom/agents/a1/messages', student(), clubId));
    });

    it('is charged only to the most specific limit, such as the limit of comments', async () => {
      const clubId = randomUUID();
      const someone = student();
      await passes(10, inClub('POST', '/classroom/posts/p1/comments', someone, clubId));
      await passes(600, inClub('POST', '/classroom/posts/p1/reactions', someone, clubId));
      await passes(60, inClub('POST', '/campaigns', admin(), clubId));
    });

    it('shares one limit with all comments on lessons and posts if it is a comment', async () => {
      const someone = student();
      await passes(5, inClub('POST', '/classroom/posts/p1/comments', someone));
      await passes(5, inClub('POST', '/classroom/lessons/l1/comments', someone));
      expect(await outcome(inClub('POST', '/classroom/posts/p2/comments', someone))).to.equal(limited(minute));
    });

    it('shares a limit of 30 an hour if it books or cancels a mentorship session', async () => {
      const someone = student();
      await passes(15, inClub('POST', '/classroom/mentorships/m1/bookings', someone));
      await passes(15, inClub('DELETE', '/classroom/mentorships/m2/sessions/s1', someone));
      expect(await outcome(inClub('POST', '/classroom/mentorships/m3/bookings', someone))).to.equal(limited(hour));
      expect(await outcome(inClub('DELETE', '/classroom/mentorships/m3/sessions/s1', someone))).to.equal(limited(hour));
    });

    it('is charged to the club if an administrator writes on a classroom path', async () => {
      const clubId = randomUUID();
      const someone = admin();
      await passes(30, inClub('POST', `/classroom/community/spaces/${randomUUID()}/posts`, someone, clubId));
      await passes(29, inClub('POST', '/classroom/posts/p1/comments', someone, clubId));
      await passes(1, inClub('POST', '/webhook-endpoints', admin(), clubId));
      expect(await outcome(inClub('POST', '/classroom/posts/p1/comments', someone, clubId))).to.equal(limited(minute));
    });

    it('is charged to the student’s limit of 30 a minute if a student writes on a club path (DEC-53)', async () => {
      const clubId = randomUUID();
      for (const someone of [student(), student(), student()]) {
        await passes(30, inClub('POST', `/media/${randomUUID()}/complete`, someone, clubId));
        expect(await outcome(inClub('POST', '/media/m1/complete', someone, clubId))).to.equal(limited(minute));
      }
      await passes(60, inClub('POST', '/media', admin(), clubId));
    });

    it('is also charged to the club if a student writes, up to 30 of the club’s 60 writes (DEC-53)', async () => {
      const clubId = randomUUID();
      const change = (caller: Call['caller'], now = noon) =>
        outcome(inClub('POST', '/media/m1/complete', caller, clubId), now, limiter, admitChange);
      const changes = async (caller: Call['caller'], now = noon) => {
        let passed = 0;
        for (; passed <= 60 && (await change(caller, now)) === 'passes';) passed += 1;
        return passed;
      };
      expect([await changes(student()), await changes(student()), await changes(student())]).to.deep.equal([
        10, 10, 10,
      ]);
      expect(await changes(student()), 'the share of each student').to.equal(4);
      const writer = admin();
      for (let n = 0; n < 30; n += 1)
        expect(await outcome(inClub('POST', '/media', writer, clubId))).to.equal('passes');
      expect(await outcome(inClub('POST', '/media', writer, clubId)), 'the club’s 60 are spent').to.equal(
        limited(minute),
      );
    });

    it('is charged only to its student if it is refused', async () => {
      const clubId = randomUUID();
      const [greedy, other] = [student(), student()];
      const change = (caller: Call['caller'], now: number) =>
        outcome(inClub('POST', '/media/m1/complete', caller, clubId), now, limiter, admitChange);
      for (let n = 0; n < 300; n += 1) await change(greedy, noon);
      expect(await change(greedy, noon + 60_000)).to.equal(limited(minute));
      for (let n = 0; n < 10; n += 1) expect(await change(other, noon + 60_000)).to.equal('passes');
    });

    it('is charged to the club’s changes if it is an accepted write of a student on a club path', async () => {
      const charge = () => Promise.reject(new Error('Call was charged'));
      const unlimited = { charge, chargeShared: charge, chargeHere: limiter.chargeHere };
      const path = '/media/m1/complete';
      await admitChange(unlimited, inClub('POST', path, admin()), noon);
      await admitChange(unlimited, inClub('POST', '/classroom/agent-images', student()), noon);
      await admitChange(unlimited, { ...inClub('POST', path, student()), refused: true }, noon);
      await admitChange(unlimited, inClub('GET', '/media', student()), noon);
    });

    it('shares one limit with all credential calls of students and administrators from its address', async () => {
      const ip = anyIp();
      const paths = [
        '/v1/auth/sign-in',
        '/v1/auth/verify-email',
        '/v1/auth/reset',
        '/v1/auth/code/exchange',
        '/v1/auth/admin/sign-in',
        `/v1/clubs/${randomUUID()}/classroom/sign-up`,
      ];
      for (let n = 0; n < 10; n += 1) await passes(1, call('POST', paths[n % paths.length] ?? '', { ip }));
      for (const path of paths) expect(await outcome(call('POST', path, { ip })), path).to.match(/^429 rate_limited /);
      await passes(1, call('DELETE', '/v1/auth/session', { ip }));
      await passes(1, call('GET', '/v1/auth/session', { ip }));
      await passes(1, call('POST', paths[0] ?? ''));
    });

    it('also counts against its IPv6 /48 network with ten times the limit, unless it is refused (DEC-30)', async () => {
      const site = `2001:db8:${randomInt(0x10000).toString(16)}`;
      const from = (network: number) => signIn(`${site}:${network.toString(16)}::1`);
      await passes(10, from(1));
      for (let n = 0; n < 100; n += 1) expect(await outcome(from(1))).to.match(/^429 /);
      for (let network = 2; network <= 10; network += 1) await passes(10, from(network));
      expect(await outcome(from(11))).to.equal(limited(minute));
      await passes(1, signIn(`2001:db9:${site.slice(9)}:1::1`));
    });

    it('is charged to the /64 of an IPv6 client, and to the IPv4 address of an IPv4-mapped client', async () => {
      const network = `2001:db8:${randomInt(0x10000).toString(16)}:${randomInt(1, 0xffff).toString(16)}`;
      for (let host = 1; host <= 10; host += 1) await passes(1, signIn(`${network}::${host}`));
      expect(await outcome(signIn(`${network}:ffff::1`))).to.equal(limited(minute));
      const ip = anyIp();
      await passes(10, signIn(`::ffff:${ip}`));
      expect(await outcome(signIn(ip))).to.equal(limited(minute));
    });
  });

  describe('refused calls', () => {
    const ways: readonly [string, Partial<Call>][] = [
      ['without a session (401)', { refused: true }],
      ['by an administrator of another club (403)', { caller: admin(), refused: true }],
      ['by a student of another club (403)', { caller: student(), clubId: randomUUID(), refused: true }],
      ['on a path without a session', {}],
      ['with a known club and an unknown caller', { clubId: randomUUID() }],
      ['with a known caller and an unknown club', { caller: admin() }],
    ];
    for (const [title, over] of ways) {
      it(`count against their IP address, not against the club: ${title}`, async () => {
        const clubId = randomUUID();
        const ip = anyIp();
        const path = `/v1/clubs/${clubId}/webhook-endpoints`;
        await passes(60, call('POST', path, { ip, ...over }));
        expect(await outcome(call('POST', path, { ip, ...over }))).to.equal(limited(minute));
        expect(await outcome(call('POST', `/v1/clubs/${randomUUID()}/classroom/x`, { ip, ...over }))).to.match(/^429 /);
        await passes(60, { ...inClub('POST', '/webhook-endpoints', admin(), clubId), ip });
      });
    }

    it('do not count against the student’s limit', async () => {
      const someone = student();
      const path = '/classroom/agents/a1/messages';
      await passes(60, { ...inClub('POST', path, someone), refused: true, ip: '192.0.2.1' });
      await passes(20, inClub('POST', path, someone));
    });

    it('do not count against the limit of other writes from their IP address', async () => {
      const ip = anyIp();
      await passes(60, call('POST', `/v1/clubs/${randomUUID()}/media`, { ip, refused: true }));
      await passes(60, call('PATCH', '/v1/me', { ip }));
    });

    it('count only once against the limit of their IP address', async () => {
      const ip = anyIp();
      await passes(30, call('DELETE', '/v1/auth/session', { ip, refused: true }));
      await passes(30, call('DELETE', '/v1/auth/session', { ip, caller: student() }));
      expect(await outcome(call('DELETE', '/v1/auth/session', { ip }))).to.equal(limited(minute));
    });
  });

  describe('calls while the counters are unavailable', () => {
    const unavailable = '503 rate_limit_unavailable';
    const rows: readonly [string, () => Call, string][] = [
      ['POST /v1/auth/sign-in', () => call('POST', '/v1/auth/sign-in'), unavailable],
      ['POST /v1/auth/verify-email', () => call('POST', '/v1/auth/verify-email'), unavailable],
      ['POST .../classroom/sign-up', () => call('POST', `/v1/clubs/${randomUUID()}/classroom/sign-up`), unavailable],
      ['DELETE /v1/auth/session', () => call('DELETE', '/v1/auth/session'), 'passes'],
      ['GET /v1/auth/session', () => call('GET', '/v1/auth/session'), 'passes'],
      ['a write elsewhere', () => call('PATCH', '/v1/me'), 'passes'],
      ['a write of a club', () => inClub('POST', '/webhook-endpoints', admin()), 'passes'],
      ['a classroom write', () => inClub('POST', '/classroom/assignment-files', student()), 'passes'],
      ['an agent question', () => inClub('POST', '/classroom/agents/a1/messages', student()), 'passes'],
      ['a refused call', () => call('POST', `/v1/clubs/${randomUUID()}/media`, { refused: true }), 'passes'],
      ['a platform notice', () => call('POST', '/webhooks/platform1/token1'), 'passes'],
      ['a billing notice', () => call('POST', '/webhooks/billing'), 'passes'],
    ];
    for (const [title, make, expected] of rows) {
      it(`end with ${expected}: ${title}`, async () => {
        expect(await outcome(make(), noon, down)).to.equal(expected);
      });
    }

    describe('the limit in memory for credential routes of administrators (DEC-29)', () => {
      const adminSignIn = (ip = anyIp()) => call('POST', '/v1/auth/admin/sign-in', { ip });
      let start = noon;
      beforeEach('start a new window', () => {
        start += 60_000;
      });

      it('allows 3 calls a minute for each address, over all routes', async () => {
        const ip = anyIp();
        for (let n = 0; n < 3; n += 1) expect(await outcome(adminSignIn(ip), start, down)).to.equal('passes');
        expect(await outcome(adminSignIn(ip), start + 1_000, down)).to.equal(limited(59));
        expect(await outcome(call('POST', '/v1/auth/admin/password-reset', { ip }), start, down)).to.match(/^429 /);
        expect(await outcome(adminSignIn(), start, down)).to.equal('passes');
        expect(await outcome(adminSignIn(ip), start + 60_000, down)).to.equal('passes');
        start += 60_000;
      });

      it('allows 30 calls a minute for all addresses together', async () => {
        for (let n = 0; n < 30; n += 1) expect(await outcome(adminSignIn(), start, down)).to.equal('passes');
        expect(await outcome(adminSignIn(), start, down)).to.equal(limited(60));
        expect(await outcome(adminSignIn(), start + 60_000, down)).to.equal('passes');
        start += 60_000;
      });
    });

    it('fail with any error that does not come from the counters', async () => {
      const charge = () => Promise.reject(new TypeError('a mistake'));
      const broken = { charge, chargeShared: charge, chargeHere: down.chargeHere };
      const error: unknown = await admit(broken, call('PATCH', '/v1/me'), noon).catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(TypeError);
    });
  });
});
