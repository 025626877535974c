/** Tests sign-ins of administrators at a provider of the deployment, which is a real provider in a process of its own (OIDC-1, OIDC-2, OIDC-6). */
import { expect } from 'chai';
import { buildAdministrator, password, type TestAdministrator } from '../toolkit/builders/clubs.ts';
import { clock, expectError } from '../toolkit/drive/api.ts';
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

const person = somebody();
const stranger = somebody();
const exchange = '/v1/auth/admin/code/exchange';

describe('the sign-in of an administrator with an identity provider', () => {
  let provider: TestProvider;
  let api: ProviderApi;
  let administrator: TestAdministrator;
  const by = () => ({ provider_id: provider.id });

  before(async () => {
    provider = await startProvider([person, stranger]);
    api = await serveWithProviders([provider]);
    administrator = await buildAdministrator();
  });
  after(async () => {
    await api.close();
    await provider.stop();
  });

  it('begins with the list of the providers', async () => {
    const { body } = await api.call('GET', '/v1/auth/admin/providers');
    expect(body.data).to.deep.equal({ providers: [{ id: provider.id, name: 'Harbour Group' }] });
  });

  it('answers an unknown identity with a token to join it, and opens no session', async () => {
    const answer = await signInBy(api, by(), person);
    expectError(answer, 'identity_not_joined');
    expect(answer.body.error.join_token).to.match(/^[\w-]{43}$/);
    expect(answer.body.data).to.equal(undefined);
  });

  it('opens a session after the identity was joined by the password of the account', async () => {
    const joined = await joinBy(api, by(), person, { email: administrator.email, password });
    expect(joined.status).to.equal(200);
    const again = await signInBy(api, by(), person);
    expect(again.status).to.equal(200);
    expect(again.body.data.administrator.id).to.equal(administrator.id);
    const me = await api.call('GET', '/v1/me', { token: again.body.data.token });
    expect(me.body.data.email).to.equal(administrator.email);
  });

  it('refuses a code without the token of the browser that started', async () => {
    const mine = await start(api, by());
    const theirs = await start(api, by());
    const answer = await walk(mine.url, person);
    expectError(
      await api.call('POST', exchange, { body: { sign_in_token: theirs.sign_in_token, ...answer } }),
      'provider_sign_in_failed',
    );
  });

  it('refuses a code with the state of another browser', async () => {
    const mine = await start(api, by());
    const theirs = await start(api, by());
    const { code } = await walk(mine.url, person);
    const { state } = await walk(theirs.url, person);
    expectError(
      await api.call('POST', exchange, { body: { sign_in_token: mine.sign_in_token, code, state } }),
      'provider_sign_in_failed',
    );
  });

  it('refuses a replayed code and a replayed token', async () => {
    const { url, sign_in_token } = await start(api, by());
    const body = { sign_in_token, ...(await walk(url, person)) };
    expect((await api.call('POST', exchange, { body })).status).to.equal(200);
    expectError(await api.call('POST', exchange, { body }), 'provider_sign_in_failed');
    const second = await start(api, by());
    const { state } = await walk(second.url, person);
    expectError(
      await api.call('POST', exchange, { body: { sign_in_token: second.sign_in_token, code: body.code, state } }),
      'provider_sign_in_failed',
    );
  });

  it('refuses a second code for a token that was used', async () => {
    const { url, sign_in_token } = await start(api, by());
    const codes = [await walk(url, person), await walk(url, person)];
    expect(codes[0]?.code).not.to.equal(codes[1]?.code);
    expect((await api.call('POST', exchange, { body: { sign_in_token, ...codes[0] } })).status).to.equal(200);
    expectError(await api.call('POST', exchange, { body: { sign_in_token, ...codes[1] } }), 'provider_sign_in_failed');
  });

  it('refuses a token of a start ten minutes ago', async () => {
    const { url, sign_in_token } = await start(api, by());
    const answer = await walk(url, person);
    clock.advance(10 * 60_000);
    expectError(await api.call('POST', exchange, { body: { sign_in_token, ...answer } }), 'provider_sign_in_failed');
  });

  it('refuses a start with an address that the operator does not allow', async () => {
    const body = { ...by(), redirect_uri: 'https://attacker.example/' };
    expectError(await api.call('POST', '/v1/auth/admin/providers/start', { body }), 'invalid_request');
  });

  it('asks for exactly one provider', async () => {
    for (const body of [{}, { ...by(), club: 'harbour' }])
      expectError(await api.call('POST', '/v1/auth/admin/providers/start', { body }), 'invalid_request');
  });
});
