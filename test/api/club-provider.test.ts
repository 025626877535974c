/** Tests the identity provider of a club: its settings (OIDC-3, OIDC-8), and the sessions that it opens (OIDC-7, OIDC-10). */
import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { buildClub, buildMember, password, type TestClub } from '../toolkit/builders/clubs.ts';
import { clock, expectError } from '../toolkit/drive/api.ts';
import {
  joinBy,
  serveWithProviders,
  signInBy,
  somebody,
  startProvider,
  type ProviderApi,
  type TestProvider,
} from '../toolkit/stack/identity-providers.ts';
import { testDeps } from '../toolkit/stack/database.ts';

const member = somebody();
const outsider = somebody({ domain: 'other.example' });
const unverified = somebody({ emailVerified: false });
const owner = somebody();

describe('the identity provider of a club', () => {
  let provider: TestProvider;
  let api: ProviderApi;
  let club: TestClub;
  let slug: string;
  const path = () => `/v1/clubs/${club.id}/identity-provider`;
  const settings = (changes = {}) => ({
    name: 'Harbour Academy',
    issuer: provider.issuer,
    client_id: provider.clientId,
    client_secret: provider.clientSecret,
    email_domains: ['harbour.example'],
    ...changes,
  });
  const set = (changes = {}) => api.call('PUT', path(), { token: club.owner.token, body: settings(changes) });
  const rules = (token: string, body: object) => api.call('PUT', `/v1/clubs/${club.id}/sign-in-rules`, { token, body });
  const bySlug = () => ({ club: slug });
  const joined = async (person: typeof member, email: string) => {
    const { body, status } = await joinBy(api, bySlug(), person, { email, password });
    expect(status).to.equal(200);
    return body.data.token as string;
  };

  before(async () => {
    provider = await startProvider([member, outsider, unverified, owner]);
    api = await serveWithProviders([]);
  });
  after(async () => {
    await api.close();
    await provider.stop();
  });
  beforeEach(async () => {
    club = await buildClub();
    const { db } = await testDeps();
    slug = (await db.one<{ slug: string }>(sql`SELECT slug FROM clubs WHERE id = ${club.id}`))?.slug ?? '';
  });

  describe('its settings', () => {
    it('are set, read without the secret, and removed', async () => {
      const { body, status } = await set();
      expect(status).to.equal(200);
      expect(body.data).to.include({ name: 'Harbour Academy', issuer: provider.issuer, client_id: provider.clientId });
      expect(body.data).not.to.have.property('client_secret');
      const read = await api.call('GET', path(), { token: club.owner.token });
      expect(read.body.data).to.deep.equal(body.data);
      expect((await api.call('DELETE', path(), { token: club.owner.token })).status).to.equal(204);
      expectError(await api.call('GET', path(), { token: club.owner.token }), 'not_found');
    });

    it('need a fresh proof', async () => {
      clock.advance(11 * 60_000);
      expectError(await set(), 'fresh_factor_required');
      expectError(await api.call('DELETE', path(), { token: club.owner.token }), 'fresh_factor_required');
    });

    it('are refused for an issuer on a private address, over http, or with a query', async () => {
      for (const issuer of ['https://10.0.0.7', 'https://169.254.169.254', 'http://login.example.com'])
        expectError(await set({ issuer }), 'url_not_allowed');
      expectError(await set({ issuer: `${provider.issuer}?a=b` }), 'url_not_allowed');
    });

    it('are refused for an issuer without a discovery document, or with the one of another issuer', async () => {
      expectError(await set({ issuer: `${provider.issuer}/elsewhere` }), 'invalid_request');
      const port = new URL(provider.issuer).port;
      expectError(await set({ issuer: `https://localhost:${port}/` }), 'invalid_request');
      expectError(await api.call('GET', path(), { token: club.owner.token }), 'not_found');
    });

    it('are refused for a public suffix, an address and a host without a dot', async () => {
      for (const domain of ['com', 'co.uk', 'github.io', '10.0.0.7', 'localhost', 'a@b.example', 'https://b.example'])
        expectError(await set({ email_domains: [domain] }), 'invalid_request');
    });

    it('keep domains in ASCII and lower case', async () => {
      const { body } = await set({ email_domains: ['Bücher.Example', 'harbour.example'] });
      expect(body.data.email_domains).to.deep.equal(['harbour.example', 'xn--bcher-kva.example']);
    });

    it('keep the secret unless issuer or client change', async () => {
      await set();
      expect((await set({ client_secret: undefined })).status).to.equal(200);
      expectError(await set({ client_secret: undefined, client_id: 'another' }), 'invalid_request');
      expect((await signInBy(api, bySlug(), member)).body.error.code).to.equal('identity_not_joined');
    });

    it('contain a sealed secret', async () => {
      await set();
      const { db } = await testDeps();
      const row = await db.one<{ secret: Buffer }>(
        sql`SELECT sealed_client_secret AS secret FROM identity_providers WHERE club_id = ${club.id}`,
      );
      expect(row?.secret.includes(provider.clientSecret)).to.equal(false);
    });
  });

  describe('a session that it opened', () => {
    it('acts in the club, and in no other club of the person', async () => {
      await set();
      const other = await buildClub();
      const person = await buildMember(club.id, 'admin');
      const { db } = await testDeps();
      await db.run(
        sql`INSERT INTO memberships (club_id, administrator_id, role, joined_at) VALUES (${other.id}, ${person.id}, 'owner', ${new Date()})`,
      );
      const token = await joined(member, person.email);
      const students = (clubId: string, by = token) => api.call('GET', `/v1/clubs/${clubId}/students`, { token: by });
      expect((await students(club.id)).status).to.equal(200);
      expectError(await students(other.id), 'forbidden');
      expect((await students(other.id, person.token)).status).to.equal(200);
    });

    it('shows in the profile neither the other clubs nor the telephone number', async () => {
      await set();
      await buildClub();
      const person = await buildMember(club.id, 'admin');
      const { db } = await testDeps();
      const other = await buildClub();
      await db.run(sql`UPDATE administrators SET phone = '+4930123456' WHERE id = ${person.id}`);
      await db.run(
        sql`INSERT INTO memberships (club_id, administrator_id, role, joined_at) VALUES (${other.id}, ${person.id}, 'owner', ${new Date()})`,
      );
      const token = await joined(member, person.email);
      const limited = (await api.call('GET', '/v1/me', { token })).body.data;
      expect(limited.organizations.map((one: { organization_id: string }) => one.organization_id)).to.deep.equal([
        club.id,
      ]);
      expect(limited).not.to.have.property('phone');
      const full = (await api.call('GET', '/v1/me', { token: person.token })).body.data;
      expect(full.organizations).to.have.length(2);
      expect(full.phone).to.equal('+4930123456');
    });

    it('changes nothing of the account, and opens no club', async () => {
      await set();
      const person = await buildMember(club.id, 'admin');
      const token = await joined(member, person.email);
      const refused: readonly [string, string, object | undefined][] = [
        ['PATCH', '/v1/me', { language: 'de' }],
        ['POST', '/v1/organizations', { name: 'Another Club' }],
        ['GET', '/v1/me/identities', undefined],
        ['POST', '/v1/me/identities', { join_token: 'x' }],
        ['DELETE', `/v1/me/identities/${newId()}`, undefined],
        ['DELETE', '/v1/me/password', undefined],
      ];
      for (const [method, address, body] of refused)
        expectError(await api.call(method, address, { token, ...(body && { body }) }), 'provider_session_limited');
      expect((await api.call('DELETE', '/v1/auth/session', { token })).status).to.equal(204);
    });

    it('gives no device token with which wrong passwords could be tried without a limit', async () => {
      await set();
      const person = await buildMember(club.id, 'admin');
      await joined(member, person.email);
      const { body } = await signInBy(api, bySlug(), member);
      const attempt = (deviceToken: string) =>
        api.call('POST', '/v1/auth/admin/sign-in', {
          body: { email: person.email, password: 'wrong password', device_token: deviceToken },
        });
      for (let tries = 0; tries < 10; tries++) await attempt('unknown');
      expectError(await attempt(body.data.device_token), 'rate_limited');
    });

    it('keeps its limit through the challenge of a second factor', async () => {
      await set();
      const person = await buildMember(club.id, 'admin');
      await joined(member, person.email);
      const { db } = await testDeps();
      await db.run(sql`UPDATE administrators SET has_second_factor = true WHERE id = ${person.id}`);
      expect((await signInBy(api, bySlug(), member)).body.error.code).to.equal('second_factor_required');
      const row = await db.one<{ clubId: string }>(
        sql`SELECT club_id AS "clubId" FROM sign_in_challenges WHERE administrator_id = ${person.id}`,
      );
      expect(row?.clubId).to.equal(club.id);
    });
  });

  it('refuses people without a verified address in one of the domains', async () => {
    await set();
    for (const person of [outsider, unverified])
      expectError(await signInBy(api, bySlug(), person), 'provider_sign_in_failed');
    expect(api.failures.slice(-2)).to.deep.equal(['EMAIL_NOT_IN_DOMAINS', 'EMAIL_NOT_VERIFIED']);
  });

  it('answers a club without a provider and an unknown club alike', async () => {
    const answers = [];
    for (const name of [{ club: slug }, { club: 'no-such-club' }, { provider_id: newId() }])
      answers.push((await api.call('POST', '/v1/auth/admin/providers/start', { body: name })).text);
    expect(new Set(answers).size).to.equal(1);
    expect(answers[0]).to.include('provider_sign_in_failed');
  });

  it('is required only by an owner whom it has signed in', async () => {
    const body = { requires_second_factor: false, requires_provider: true };
    expectError(await rules(club.owner.token, body), 'sign_in_rule_not_met');
    await set();
    expectError(await rules(club.owner.token, body), 'sign_in_rule_not_met');
    const token = await joined(owner, club.owner.email);
    expect((await rules(token, body)).body.data).to.deep.equal(body);
    expectError(
      await api.call('GET', `/v1/clubs/${club.id}/students`, { token: club.owner.token }),
      'club_requires_provider',
    );
    expect((await api.call('GET', `/v1/clubs/${club.id}/students`, { token })).status).to.equal(200);
  });

  for (const [name, change] of [
    ['is removed', () => api.call('DELETE', path(), { token: club.owner.token })],
    ['gets other domains', () => set({ email_domains: ['another.example'] })],
  ] as const)
    it(`ends its sessions when it ${name}`, async () => {
      await set();
      const person = await buildMember(club.id, 'admin');
      const token = await joined(member, person.email);
      expect((await change()).status).to.be.oneOf([200, 204]);
      expectError(await api.call('GET', '/v1/me', { token }), 'unauthenticated');
      expect((await api.call('GET', '/v1/me', { token: person.token })).status).to.equal(200);
    });

  it('loses its identities and its requirement when it is removed', async () => {
    await set();
    const token = await joined(owner, club.owner.email);
    await rules(token, { requires_second_factor: false, requires_provider: true });
    expect((await api.call('DELETE', path(), { token })).status).to.equal(204);
    const { body } = await api.call('GET', `/v1/clubs/${club.id}/sign-in-rules`, { token: club.owner.token });
    expect(body.data.requires_provider).to.equal(false);
    const { db } = await testDeps();
    expect(
      await db.rows(sql`SELECT 1 FROM administrator_identities WHERE administrator_id = ${club.owner.id}`),
    ).to.deep.equal([]);
  });

  it('becomes another provider when its issuer changes', async () => {
    const other = await startProvider([member]);
    try {
      const first = (await set()).body.data.id;
      const person = await buildMember(club.id, 'admin');
      await joined(member, person.email);
      const changes = { issuer: other.issuer, client_id: other.clientId, client_secret: other.clientSecret };
      expect((await set(changes)).body.data.id).not.to.equal(first);
      expectError(await signInBy(api, bySlug(), member), 'identity_not_joined');
    } finally {
      await other.stop();
    }
  });
});
