/** Tests the table of the rate limits against LIM-1 to LIM-11, and tests which row applies to a request (DEC-23). */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import * as fc from 'fast-check';
import {
  archiveRequests,
  clubWrites,
  libraryUploadCreations,
  refusedCalls,
  ruleFor,
  rules,
  studentsShareOfClub,
  studentWritesOfClub,
  uploadCreations,
  type Rule,
} from '../../../api/rate-limits/rules.policy.ts';

const club = `/v1/clubs/${randomUUID()}`;
const classroom = `${club}/classroom`;
const minute = 60;
const hour = 3_600;
const writes = ['POST', 'PUT', 'PATCH', 'DELETE'];

/** Each row contains the method, the path, the limit, the window in seconds, the scope, and the effect of unavailable counters. */
const table: readonly [string, string, number, number, string, string][] = [
  ...writes.map((method): [string, string, number, number, string, string] => [
    method,
    `${club}/webhook-endpoints`,
    60,
    minute,
    'club',
    'pass',
  ]),
  ...writes.map((method): [string, string, number, number, string, string] => [
    method,
    '/v1/me',
    60,
    minute,
    'ip',
    'pass',
  ]),
  ...writes.map((method): [string, string, number, number, string, string] => [
    method,
    `${classroom}/anything`,
    600,
    minute,
    'student',
    'pass',
  ]),
  ['PATCH', club, 60, minute, 'club', 'pass'],
  ['POST', `${club}/media/${randomUUID()}/complete`, 60, minute, 'club', 'pass'],
  ['POST', `${club}/operations/of/later`, 60, minute, 'club', 'pass'],
  ['POST', `${club}/campaigns/${randomUUID()}/test-mails`, 20, hour, 'club', 'pass'],
  ['DELETE', `${club}/members/${randomUUID()}`, 60, minute, 'administrator', 'pass'],
  ['PATCH', `${club}/members/${randomUUID()}`, 60, minute, 'administrator', 'pass'],
  ['DELETE', `${club}/invitations/${randomUUID()}`, 60, minute, 'administrator', 'pass'],
  ['POST', `${club}/members`, 60, minute, 'club', 'pass'],
  ['POST', `${club}/mail/suppressions/import`, 20, hour, 'club', 'pass'],
  ['PUT', `${club}/mail/domain`, 30, hour, 'club', 'pass'],
  ['POST', `${club}/mail/domain/verify`, 30, hour, 'club', 'pass'],
  ['POST', '/v1/clubs', 60, minute, 'ip', 'pass'],
  ['POST', '/no/such/path', 60, minute, 'ip', 'pass'],
  ['POST', '/', 60, minute, 'ip', 'pass'],
  ['POST', '/v1/auth/sign-in', 10, minute, 'ip', 'refuse'],
  ['POST', '/v1/auth/verify-email', 10, minute, 'ip', 'refuse'],
  ['POST', '/v1/auth/verify-email/resend', 10, minute, 'ip', 'refuse'],
  ['POST', '/v1/auth/reset/confirm', 10, minute, 'ip', 'refuse'],
  ['POST', '/v1/auth/code/exchange', 10, minute, 'ip', 'refuse'],
  ['POST', '/v1/auth', 10, minute, 'ip', 'refuse'],
  ['POST', '/v1/auth/admin/sign-in', 10, minute, 'ip', 'local'],
  ['POST', '/v1/auth/admin/sign-up', 10, minute, 'ip', 'local'],
  ['POST', '/v1/auth/administration', 10, minute, 'ip', 'refuse'],
  ['DELETE', '/v1/auth/session', 60, minute, 'ip', 'pass'],
  ['POST', `${classroom}/sign-up`, 10, minute, 'ip', 'refuse'],
  ['PUT', `${classroom}/sign-up`, 600, minute, 'student', 'pass'],
  ['POST', '/webhooks/some-platform/some-token', 600, minute, 'ip', 'pass'],
  ['POST', '/webhooks/billing', 60, minute, 'ip', 'pass'],
  ['POST', '/webhooks/a/b/c', 60, minute, 'ip', 'pass'],
  ['PUT', '/webhooks/some-platform/some-token', 60, minute, 'ip', 'pass'],
  ['POST', `${classroom}/lessons/l-1/comments`, 10, minute, 'student', 'pass'],
  ['POST', `${classroom}/posts/p-1/comments`, 10, minute, 'student', 'pass'],
  ['PATCH', `${classroom}/posts/p-1/comments`, 600, minute, 'student', 'pass'],
  ['PATCH', `${classroom}/posts/p-1/comments/c-1`, 600, minute, 'student', 'pass'],
  ['POST', `${classroom}/posts/p-1/comments/c-1/reactions`, 600, minute, 'student', 'pass'],
  ['POST', `${classroom}/community/spaces/${randomUUID()}/posts`, 20, hour, 'student', 'pass'],
  ['DELETE', `${classroom}/community/spaces/${randomUUID()}/membership`, 600, minute, 'student', 'pass'],
  ['POST', `${classroom}/mentorships/m-1/bookings`, 30, hour, 'student', 'pass'],
  ['DELETE', `${classroom}/mentorships/m-1/sessions/${randomUUID()}`, 30, hour, 'student', 'pass'],
  ['PUT', `${classroom}/mentorships/m-1/sessions/${randomUUID()}/rating`, 600, minute, 'student', 'pass'],
  ['PUT', `${classroom}/mentorships/m-1/agenda`, 600, minute, 'student', 'pass'],
  ['POST', `${classroom}/agents/a-1/messages`, 20, minute, 'student', 'pass'],
  ['POST', `${classroom}/agent-images`, 600, minute, 'student', 'pass'],
];

const found = (method: string, path: string): Rule => {
  const rule = ruleFor({ method, path });
  if (rule === undefined) throw new Error(`No rule matches ${method} ${path}`);
  return rule;
};
const counterOf = (method: string, path: string) => found(method, path).counter;

describe('rate limit table', () => {
  for (const [method, path, limit, windowSeconds, scope, whenDown] of table) {
    const shownPath = path.replace(club, '{club}').replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '{id}');
    it(`has ${method} ${shownPath}: ${limit} in ${windowSeconds} s per ${scope}, ${whenDown} when down`, () => {
      expect(found(method, path)).to.include({ limit, windowSeconds, scope, whenDown });
    });
  }

  it('has no row for reads', () => {
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'get']) {
      for (const [, path] of table) expect(ruleFor({ method, path }), `${method} ${path}`).to.equal(undefined);
      expect(ruleFor({ method, path: '/v1/auth/session' }), method).to.equal(undefined);
    }
  });

  it('counts booking and canceling a mentorship session together', () => {
    const book = counterOf('POST', `${classroom}/mentorships/m-1/bookings`);
    expect(counterOf('DELETE', `${classroom}/mentorships/m-1/sessions/s-1`)).to.equal(book);
  });

  it('counts removals, demotions and revoked invitations together, apart from other writes', () => {
    const remove = counterOf('DELETE', `${club}/members/m-1`);
    expect(counterOf('PATCH', `${club}/members/m-1`)).to.equal(remove);
    expect(counterOf('DELETE', `${club}/invitations/i-1`))
      .to.equal(remove)
      .and.not.equal(clubWrites.counter);
  });

  it('counts comments on lessons and posts together', () => {
    const onLesson = counterOf('POST', `${classroom}/lessons/l-1/comments`);
    expect(counterOf('POST', `${classroom}/posts/p-1/comments`)).to.equal(onLesson);
  });

  it('counts sign-ins and sign-ups together, but the end of a session as an ordinary write', () => {
    const signIn = counterOf('POST', '/v1/auth/sign-in');
    expect(counterOf('POST', '/v1/auth/admin/sign-in')).to.equal(signIn);
    expect(counterOf('POST', `${classroom}/sign-up`)).to.equal(signIn);
    expect(counterOf('DELETE', '/v1/auth/session')).to.equal(counterOf('PUT', '/v1/me')).and.not.equal(signIn);
  });

  it('has one counter per row, except for four counters that several rows share', () => {
    const shared = ['credentials', 'comments', 'mentorship_sessions', 'member_changes'];
    const own = [...rules, refusedCalls].map(({ counter }) => counter).filter((counter) => !shared.includes(counter));
    expect(own).to.have.length(new Set(own).size);
    expect(own).to.have.length(rules.length + 1 - 4 - 2 - 2 - 2);
  });

  it('has the same limit, window and scope in all rows that share a counter', () => {
    for (const rule of rules) {
      const { counter, limit, windowSeconds, scope } = rule;
      for (const other of rules.filter((candidate) => candidate.counter === counter)) {
        expect(other, `${other.name}, as ${rule.name}`).to.include({ limit, windowSeconds, scope });
      }
    }
  });

  it('charges refused calls to the write limit of their IP address', () => {
    expect(refusedCalls).to.include({ limit: 60, windowSeconds: 60, scope: 'ip', whenDown: 'pass' });
    expect(rules).not.to.include(refusedCalls);
    expect(clubWrites).to.include({ limit: 60, windowSeconds: 60, scope: 'club', whenDown: 'pass' });
  });
});

describe('rate limits outside the table', () => {
  it('allow 30 writes a minute to each student, and 30 to all students of a club together (DEC-53)', () => {
    const common = { limit: 30, windowSeconds: 60, whenDown: 'pass' };
    expect(studentWritesOfClub).to.include({ ...common, counter: 'student_club_writes', scope: 'student' });
    expect(studentsShareOfClub).to.include({ ...common, counter: 'club_writes_of_students', scope: 'club' });
  });

  it('allow 60 new uploads and 60 archives in a minute (LIM-22, LIM-23)', () => {
    const rate = { limit: 60, windowSeconds: 60 };
    expect(uploadCreations).to.deep.equal({ ...rate, counter: 'upload_creations', scope: 'student' });
    expect(libraryUploadCreations).to.deep.equal({ ...rate, counter: 'library_upload_creations', scope: 'club' });
    expect(archiveRequests).to.deep.equal({ ...rate, counter: 'archive_requests', scope: 'student' });
  });
});

const literals = ({ path }: Rule) =>
  path.split('/').filter((part) => part !== '' && part !== '*' && !part.startsWith('{')).length;
const encodeAll = (text: string) =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

describe('choice of the most specific rate limit row', () => {
  const write = fc.constantFrom(...writes);
  const segment = fc.oneof(
    fc.uuid(),
    fc.stringMatching(/^[A-Za-z0-9._~-]{1,32}$/),
    fc.constantFrom('admin', 'classroom', 'sign-up', 'a%2Fb', '%E0%A4%A', '{clubId}', '*'),
  );
  const tail = fc.array(segment, { minLength: 1, maxLength: 6 }).map((segments) => segments.join('/'));
  /** Returns a path that matches the rule, with values for its parameters and its wildcard. */
  const instance = (rule: Rule) =>
    fc.infiniteStream(segment).map((values) => {
      const next = () => String(values.next().value);
      return rule.path.replaceAll(/\{\w+\}|\*/g, (hole) => (hole === '*' ? `${next()}/${next()}` : next()));
    });
  const requestOf = fc
    .constantFrom(...rules)
    .chain((rule) =>
      fc.record({ rule: fc.constant(rule), method: fc.constantFrom(...rule.methods), path: instance(rule) }),
    );

  it('finds a club row for every write under /v1/clubs/{clubId}/', () => {
    fc.assert(
      fc.property(write, fc.uuid(), tail, (method, id, rest) => {
        expect(counterOf(method, `/v1/clubs/${id}/${rest}`)).not.to.be.oneOf(['writes', 'platform_notices']);
      }),
    );
  });

  it('finds a row for every write on any path', () => {
    fc.assert(
      fc.property(write, fc.string(), (method, path) => {
        expect(found(method, path).methods).to.include(method);
      }),
    );
  });

  it('finds for each request the row that it matches, or a more specific row', () => {
    fc.assert(
      fc.property(requestOf, ({ rule, method, path }) => {
        const winner = found(method, path);
        if (winner !== rule) expect(literals(winner), winner.name).to.be.greaterThan(literals(rule));
      }),
      { numRuns: 2_000 },
    );
  });

  it('never finds two rows of equal specificity for one path', () => {
    for (const rule of rules) {
      for (const other of rules) {
        if (other === rule || literals(other) !== literals(rule)) continue;
        if (!other.methods.some((method) => rule.methods.includes(method))) continue;
        const path = rule.path.replaceAll(/\{\w+\}/g, 'x').replace('*', 'x/y');
        expect(counterOf(rule.methods[0] ?? '', path), `${rule.name} / ${other.name}`).to.equal(rule.counter);
      }
    }
  });

  it('finds the same row for any letter case, percent-encoding, and double or trailing slashes', () => {
    const spelling = fc.record({ upper: fc.boolean(), encode: fc.boolean(), repeat: fc.integer({ min: 1, max: 3 }) });
    fc.assert(
      fc.property(
        requestOf,
        fc.infiniteStream(spelling),
        fc.nat({ max: 3 }),
        ({ method, path }, spellings, trailing) => {
          const respelled = path
            .split('/')
            .slice(1)
            .map((part) => {
              const { upper, encode, repeat } = spellings.next().value;
              const cased = upper && !part.includes('%') ? part.toUpperCase() : part;
              return '/'.repeat(repeat) + (encode && !part.includes('%') ? encodeAll(cased) : cased);
            })
            .join('');
          expect(found(method, respelled + '/'.repeat(trailing)), respelled).to.equal(found(method, path));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('does not treat ß as ss, although both have the capital letters SS', () => {
    expect(counterOf('POST', `${club}/claßroom/anything`)).to.equal('club_writes');
    expect(counterOf('POST', `${club}/cla%C3%9Froom/anything`)).to.equal('club_writes');
  });

  it('treats an encoded slash as part of a parameter', () => {
    expect(counterOf('POST', `${classroom}/lessons/a%2Fb/comments`)).to.equal('comments');
    expect(counterOf('POST', `${classroom}/agents/a%2fb%2Fc/messages`)).to.equal('agent_questions');
  });

  it('accepts a malformed percent-encoding as the value of a parameter', () => {
    expect(counterOf('POST', `${classroom}/agents/%E0%A4%A/messages`)).to.equal('agent_questions');
  });
});
