/**
 * Tests sign-ins at a provider that makes mistakes, fails or attacks: each gets the same 401 (OIDC-2, OIDC-4, OIDC-5). A front before the
 * real provider changes its answers.
 */
import { expect } from 'chai';
import type { AlterAnswer } from '../../dev/identity-provider/provider.ts';
import { createEgress } from '../../platform/infra/egress/egress.ts';
import { createOpenIdClient, ProviderBusy, ProviderFailed } from '../../platform/infra/openid/client.ts';
import { providerPermits } from '../../platform/infra/openid/permits.ts';
import { Secret } from '../../platform/core/secret.ts';
import { buildAdministrator, password } from '../toolkit/builders/clubs.ts';
import { expectError, visible } from '../toolkit/drive/api.ts';
import { flawedTokens, withMembers, type FlawedTokens } from '../toolkit/fakes/flawed-tokens.ts';
import {
  joinBy,
  serveWithProviders,
  signInBy,
  somebody,
  start,
  startProvider,
  walk,
  type ProviderApi,
  type TestProvider,
} from '../toolkit/stack/identity-providers.ts';
import { testStack } from '../toolkit/stack/stack.ts';

const person = somebody();
const exchange = '/v1/auth/admin/code/exchange';
const unchanged: AlterAnswer = (_path, answer) => answer;
const limits = { timeMs: 1_500, answerBytes: 65_536 };

describe('a sign-in at a provider with flaws', () => {
  let provider: TestProvider;
  let other: TestProvider;
  let api: ProviderApi;
  let flawed: FlawedTokens;
  const by = () => ({ provider_id: provider.id });
  /** A new process knows no documents, so the flawed ones are read. */
  const forgetDocuments = () => api.ageDocuments(11 * 60_000);
  const signIn = async (alter: AlterAnswer) => {
    const started = await start(api, by());
    const answer = await walk(started.url, person);
    provider.alter = alter;
    return api.call('POST', exchange, { body: { sign_in_token: started.sign_in_token, ...answer } });
  };

  before(async () => {
    [provider, other] = [await startProvider([person]), await startProvider([person])];
    api = await serveWithProviders([provider, other], { limits });
    flawed = await flawedTokens();
    const { email } = await buildAdministrator();
    expect((await joinBy(api, by(), person, { email, password })).status).to.equal(200);
  });
  after(async () => {
    await api.close();
    await provider.stop();
    await other.stop();
  });
  beforeEach(forgetDocuments);
  afterEach(() => {
    provider.alter = unchanged;
  });

  it('succeeds if the front re-signs the unchanged token, so the following tests fail for their flaw alone', async () => {
    expect((await signIn(flawed.withClaims((claims) => claims))).status).to.equal(200);
  });

  // The library compares the times of a token with the real time.
  const seconds = () => Math.floor(Date.now() / 1_000);
  const flaws: Readonly<Record<string, () => AlterAnswer>> = {
    'a wrong nonce': () => flawed.withClaims((claims) => ({ ...claims, nonce: 'another' })),
    'no nonce': () => flawed.withClaims((claims) => ({ ...claims, nonce: undefined })),
    'a wrong audience': () => flawed.withClaims((claims) => ({ ...claims, aud: 'another-client' })),
    'a wrong issuer': () => flawed.withClaims((claims) => ({ ...claims, iss: 'https://login.example.com' })),
    'an expired token': () =>
      flawed.withClaims((claims) => ({ ...claims, iat: seconds() - 900, exp: seconds() - 600 })),
    'a subject that is no text': () => flawed.withClaims((claims) => ({ ...claims, sub: 7 as unknown as string })),
    'an endless subject': () => flawed.withClaims((claims) => ({ ...claims, sub: 'x'.repeat(256) })),
    'a subject with a null character': () =>
      flawed.withClaims((claims) => ({ ...claims, sub: 'some\0body', email: person.email })),
    'a foreign key': () => flawed.withForeignKey,
    'no signature (alg none)': () => flawed.unsigned,
    'the client secret as its key (HS256)': () => flawed.withSecret(provider.clientSecret),
    'no ID token': () => withMembers('/token', { id_token: undefined }),
    'an endless key set': () => (path, answer) =>
      path === '/jwks' ? { ...answer, body: Buffer.alloc(limits.answerBytes + 1, ' ') } : answer,
    'a redirect of the token endpoint': () => (path, answer) =>
      path === '/token' ? { ...answer, status: 307, headers: { location: other.issuer } } : answer,
    'an answer that never comes': () => (path, answer) => (path === '/token' ? undefined : answer),
  };

  it('gets the same 401 for every flaw of the token', async () => {
    const answers = new Map<string, string>();
    for (const [name, alter] of Object.entries(flaws)) {
      forgetDocuments();
      const answer = await signIn(alter());
      provider.alter = unchanged;
      expect(answer.status, `${name}: ${answer.text}`).to.equal(401);
      expectError(answer, 'provider_sign_in_failed');
      answers.set(visible(answer), name);
    }
    expect([...answers.values()]).to.have.length(1);
    expect(api.failures).to.have.length.greaterThanOrEqual(Object.keys(flaws).length);
  }).timeout(60_000);

  it('mails no code to a text that is not one address', async () => {
    const texts = [
      'one@example.org,two@example.com',
      'one@example.com\r\nBcc: two@example.com',
      'some\0body@example.com',
    ];
    for (const [index, email] of texts.entries()) {
      forgetDocuments();
      const sub = `${person.subject}-${index}`;
      const answer = await signIn(flawed.withClaims((claims) => ({ ...claims, sub, email, email_verified: true })));
      provider.alter = unchanged;
      expectError(answer, 'identity_not_joined');
      const body = { join_token: answer.body.error.join_token };
      expectError(await api.call('POST', '/v1/auth/admin/identities/codes', { body }), 'invalid_request');
    }
  });

  it('gets a session after the provider has rotated its keys', async () => {
    expect((await signInBy(api, by(), person)).status).to.equal(200);
    api.ageDocuments(10_000);
    expect((await signIn(await flawed.withNewKey())).status, api.failures.at(-1)).to.equal(200);
  });

  it('gets 401 for the code and the issuer of another provider (mix-up)', async () => {
    const mine = await start(api, by());
    const theirs = await start(api, { provider_id: other.id });
    const { code, iss } = await walk(theirs.url, person);
    const { state } = await walk(mine.url, person);
    const body = { sign_in_token: mine.sign_in_token, code, state };
    expectError(await api.call('POST', exchange, { body: { ...body, iss } }), 'provider_sign_in_failed');
    expect(api.failures.at(-1)).to.equal('OAUTH_INVALID_RESPONSE');
  });

  it('does not start if the discovery document names another issuer, http, or a private address', async () => {
    const documents: readonly Record<string, unknown>[] = [
      { issuer: other.issuer },
      { authorization_endpoint: 'http://localhost/auth' },
    ];
    for (const members of documents) {
      forgetDocuments();
      provider.alter = withMembers('/.well-known/openid-configuration', members);
      const answer = await api.call('POST', '/v1/auth/admin/providers/start', { body: by() });
      expectError(answer, 'provider_sign_in_failed');
    }
    forgetDocuments();
    provider.alter = unchanged;
    const first = await start(api, by());
    const answer = await walk(first.url, person);
    forgetDocuments();
    provider.alter = withMembers('/.well-known/openid-configuration', { token_endpoint: 'https://10.0.0.7/token' });
    const second = await start(api, by());
    expectError(
      await api.call('POST', exchange, { body: { sign_in_token: second.sign_in_token, ...answer } }),
      'provider_sign_in_failed',
    );
    const walked = await walk(second.url, person);
    expectError(
      await api.call('POST', exchange, { body: { sign_in_token: second.sign_in_token, ...walked } }),
      'provider_sign_in_failed',
    );
    expect(api.failures.at(-1)).to.equal('ADDRESS_REFUSED');
  });
});

describe('the client of identity providers', () => {
  const settings = (provider: TestProvider, id = 'one') => ({
    id,
    issuer: provider.issuer,
    clientId: provider.clientId,
    clientSecret: new Secret(provider.clientSecret),
    scopes: 'openid',
  });
  const secrets = { state: 's', nonce: 'n', verifier: 'v'.repeat(43) };
  let provider: TestProvider;
  before(async () => {
    provider = await startProvider([person]);
  });
  after(() => provider.stop());
  beforeEach(() => {
    provider.alter = unchanged;
  });

  const clientWith = async (clientLimits: typeof limits) => {
    const { authority } = await testStack();
    const egress = createEgress({ allowedNetworks: ['127.0.0.0/8'], extraCa: authority.certificate });
    const now = { ms: 0 };
    return {
      client: createOpenIdClient({ dispatcher: egress.dispatcher, clock: () => now.ms, limits: clientLimits }),
      egress,
      now,
    };
  };
  const outcome = (promise: Promise<unknown>) =>
    promise.then(
      () => 'done',
      (error: unknown) =>
        error instanceof ProviderFailed ? error.code : error instanceof ProviderBusy ? 'busy' : error,
    );

  it('waits for a hanging provider only for its time, with bounded permits, and then has free permits', async () => {
    const { client, egress } = await clientWith({ ...limits, timeMs: 400 });
    provider.alter = () => undefined;
    const begin = (id: string) => outcome(client.begin(settings(provider, id), 'http://dashboard', secrets));
    const startedAt = performance.now();
    const running = Array.from({ length: providerPermits.ofProvider + 2 }, () => begin('one'));
    const results = await Promise.all([...running, begin('two')]);
    expect(performance.now() - startedAt).to.be.below(5_000);
    expect(results).to.deep.equal(['TIMEOUT', 'TIMEOUT', 'TIMEOUT', 'TIMEOUT', 'busy', 'busy', 'TIMEOUT']);
    provider.alter = unchanged;
    expect(await begin('one')).to.equal('done');
    await egress.close();
  });

  it('reads the discovery document once in ten minutes', async () => {
    const { client, egress, now } = await clientWith({ ...limits, timeMs: 8_000 });
    const reads = () => provider.requests.filter((path) => path.endsWith('openid-configuration')).length;
    const before = reads();
    for (const ms of [0, 1, 599_999]) {
      now.ms = ms;
      await client.begin(settings(provider), 'http://dashboard', secrets);
    }
    expect(reads() - before).to.equal(1);
    now.ms = 600_000;
    await client.begin(settings(provider), 'http://dashboard', secrets);
    expect(reads() - before).to.equal(2);
    await egress.close();
  });

  it('refuses an issuer on a private address before it sends a byte', async () => {
    const { authority } = await testStack();
    const egress = createEgress({ allowedNetworks: [], extraCa: authority.certificate });
    const client = createOpenIdClient({ dispatcher: egress.dispatcher });
    const before = provider.requests.length;
    expect(await outcome(client.begin(settings(provider), 'http://dashboard', secrets))).to.equal('ADDRESS_REFUSED');
    expect(provider.requests.length).to.equal(before);
    await egress.close();
  });
});
