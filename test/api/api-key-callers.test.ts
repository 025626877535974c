/**
 * Tests of calls with API keys: which keys are refused, and what keys may use (KEY-3 to KEY-6). authorization.test.ts calls every
 * operation with keys.
 */
import { expect } from 'chai';
import { scopes } from '../../contract/rules/scopes.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildClub, buildMember, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { call, clock, expectError, visible, type Answer } from '../toolkit/drive/api.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

const day = 86_400_000;
const students = (club: TestClub, token: string, ip?: string) =>
  call('GET', `/v1/clubs/${club.id}/students`, { token, ...(ip !== undefined && { ip }) });
const tag = (club: TestClub, token: string, name: string): Promise<Answer> =>
  call('POST', `/v1/clubs/${club.id}/tags`, { token, body: { name } });

describe('a call with an API key', () => {
  let club: TestClub;
  beforeEach(async () => {
    club = await buildClub();
  });

  it('reads itself by each key, also by a key of one scope, and never the secret', async () => {
    const { token } = await buildApiKey(club.id, ['tags:read']);
    await buildApiKey(club.id, scopes);
    const { status, body, text } = await call('GET', `/v1/clubs/${club.id}/api-keys/current`, { token });
    expect([status, body.data.start, body.data.scopes]).to.deep.equal([200, token.slice(0, 12), ['tags:read']]);
    expect(text).to.not.include(token.slice(13, 56));
    const inPerson = await call('GET', `/v1/clubs/${club.id}/api-keys/current`, { token: club.owner.token });
    expectError(inPerson, 'not_found');
  });

  it('reads and writes what its scopes permit', async () => {
    const { token } = await buildApiKey(club.id, ['students:read', 'tags:write']);
    expect((await students(club, token)).status).to.equal(200);
    expect((await tag(club, token, 'Sailors')).status).to.equal(201);
    expectError(await call('GET', `/v1/clubs/${club.id}/tags`, { token }), 'scope_not_granted');
    const creation = { token, body: { name: 'Ada', email: 'ada@example.com' } };
    expectError(await call('POST', `/v1/clubs/${club.id}/students`, creation), 'scope_not_granted');
  });

  it('gets the answer of a call without a session if the key is invalid or the operation allows no keys', async () => {
    const { token: active } = await buildApiKey(club.id, scopes);
    const expired = await buildApiKey(club.id, scopes, { expiresAt: new Date(Date.now() - 1) });
    const distant = await buildApiKey(club.id, scopes, { networks: ['198.51.100.0/24'] });
    const revoked = await buildApiKey(club.id, scopes);
    await call('DELETE', `/v1/clubs/${club.id}/api-keys/${revoked.id}`, { token: club.owner.token });
    const unknown = await buildApiKey(club.id, scopes);
    await (await testDatabase()).query(`DELETE FROM api_keys WHERE id = $1`, [unknown.id]);
    const mistyped = active.slice(0, -1) + (active.endsWith('0') ? '1' : '0');
    const tokens = [undefined, 'clk_', mistyped, unknown.token, expired.token, revoked.token, distant.token];
    const path = `/v1/clubs/${club.id}/students`;
    const answers = new Set<string>();
    await eachCase(tokens, async (token) => {
      const answer = await call('GET', path, { token });
      expectError(answer, 'unauthenticated');
      answers.add(visible(answer));
    });
    await eachCase(['/members', '/api-keys', '/add-ons', '/community/reports'], async (closed) =>
      answers.add(visible(await call('GET', `/v1/clubs/${club.id}${closed}`, { token: active }))),
    );
    answers.add(visible(await call('GET', '/v1/me', { token: active })));
    expect([...answers]).to.have.length(1);
  });

  it('gets 403 on the path of another club', async () => {
    const { token } = await buildApiKey((await buildClub()).id, scopes);
    expectError(await students(club, token), 'forbidden');
  });

  it('is accepted only from the allowed networks of the key', async () => {
    const { token } = await buildApiKey(club.id, ['students:read'], {
      networks: ['203.0.113.0/24', '2001:db8::/48'],
    });
    const statuses = { '203.0.113.9': 200, '203.0.114.9': 401, '2001:db8:0:7::1': 200, '2001:db9::1': 401 };
    await eachCase(Object.entries(statuses), async ([ip, status]) =>
      expect((await students(club, token, ip)).status, ip).to.equal(status),
    );
  });

  it('records the time of its use, at most every 5 minutes', async () => {
    const { id, token } = await buildApiKey(club.id, ['students:read'], { expiresAt: new Date(Date.now() + 2 * day) });
    const lastUse = async () =>
      (await call('GET', `/v1/clubs/${club.id}/api-keys/${id}`, { token: club.owner.token })).body.data.last_used_at;
    expect(await lastUse()).to.equal(undefined);
    await students(club, token);
    const first = await lastUse();
    expect(Math.abs(Date.parse(first) - clock.now().getTime())).to.be.lessThan(60_000);
    clock.advance(4 * 60_000);
    await students(club, token);
    expect(await lastUse()).to.equal(first);
    clock.advance(2 * 60_000);
    await students(club, token);
    expect(Date.parse(await lastUse())).to.be.greaterThan(Date.parse(first));
  });

  it('changes the address of a student, as an admin does', async () => {
    const { token } = await buildApiKey(club.id, ['students:write']);
    const { id } = await buildStudent(club.id);
    const path = `/v1/clubs/${club.id}/students/${id}`;
    const answer = await call('PATCH', path, { token, body: { email: `new-${id}@example.com` } });
    expect(answer.body.data.email).to.equal(`new-${id}@example.com`);
  });

  it('shows files without `favorite`, and cannot set a favorite', async () => {
    const { token } = await buildApiKey(club.id, ['media:read', 'media:write']);
    const { id } = await buildMedia(club.id);
    const path = `/v1/clubs/${club.id}/media/${id}`;
    await call('PATCH', path, { token: club.owner.token, body: { favorite: true } });
    expect((await call('GET', path, { token })).body.data.favorite).to.equal(false);
    expectError(await call('PATCH', path, { token, body: { favorite: true } }), 'invalid_request');
    expect((await call('PATCH', path, { token, body: { title: 'Knots' } })).body.data.title).to.equal('Knots');
  });

  describe('the limit of writes (KEY-5)', () => {
    it('is 45 in a minute for all keys of a club, and leaves 15 to each administrator', async () => {
      const [one, other] = [await buildApiKey(club.id, ['tags:write']), await buildApiKey(club.id, ['tags:write'])];
      for (let count = 0; count < 45; count++)
        expect((await tag(club, (count % 2 ? one : other).token, `Tag ${count}`)).status).to.equal(201);
      expectError(await tag(club, one.token, 'One more'), 'rate_limited');
      expectError(await tag(club, other.token, 'One more'), 'rate_limited');
      const admin = await buildMember(club.id, 'admin');
      for (const { token } of [club.owner, admin]) {
        for (let count = 0; count < 15; count++)
          expect((await tag(club, token, `${token} ${count}`)).status).to.equal(201);
      }
    });

    it('is in the headers RateLimit and RateLimit-Policy on writes of keys, but not on other calls', async () => {
      const { token } = await buildApiKey(club.id, ['tags:write', 'tags:read']);
      const first = await tag(club, token, 'First');
      expect(first.headers.get('ratelimit-policy')).to.equal('"club_writes";q=45;w=60');
      expect(first.headers.get('ratelimit')).to.match(/^"club_writes";r=44;t=(?:[1-9]|[1-5]\d|60)$/);
      expect((await tag(club, token, 'Second')).headers.get('ratelimit')).to.match(/^"club_writes";r=43;/);
      await eachCase(
        [await call('GET', `/v1/clubs/${club.id}/tags`, { token }), await tag(club, club.owner.token, 'Third')],
        ({ headers }) => {
          expect(headers.get('ratelimit')).to.equal(null);
          expect(headers.get('ratelimit-policy')).to.equal(null);
        },
      );
    });

    it('is 0 in the header RateLimit of a refused write', async () => {
      const { token } = await buildApiKey(club.id, ['tags:write']);
      for (let count = 0; count < 45; count++) await tag(club, token, `Tag ${count}`);
      const refused = await tag(club, token, 'One more');
      expectError(refused, 'rate_limited');
      expect(refused.headers.get('ratelimit')).to.equal(`"club_writes";r=0;t=${refused.headers.get('retry-after')}`);
      expect(refused.headers.get('ratelimit-policy')).to.equal('"club_writes";q=45;w=60');
    });
  });

  it('carries a request id in each answer and each error', async () => {
    const { token } = await buildApiKey(club.id, ['students:read']);
    await eachCase([token, 'clk_wrong'], async (of) =>
      expect((await students(club, of)).headers.get('x-request-id')).to.match(/^[\w.-]{8,64}$/),
    );
  });
});
