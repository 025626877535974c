/** Tests how an identity joins an account: only by a proof of that account, never by an equal e-mail address (OIDC-6, OIDC-9). */
import { expect } from 'chai';
import { joinRules } from '../../domain/identity/providers/joins.ts';
import { tokenText } from '../../domain/mail/codes/one-time-tokens.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { expectSameTime } from '../toolkit/assert/same-time.ts';
import { buildAdministrator, buildClub, password, type TestAdministrator } from '../toolkit/builders/clubs.ts';
import { call, clock, expectError, visible } from '../toolkit/drive/api.ts';
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

const people = Array.from({ length: 14 }, () => somebody());
const unverified = somebody({ emailVerified: false });
const join = '/v1/auth/admin/identities';

describe('an identity that is not joined yet', () => {
  let provider: TestProvider;
  let api: ProviderApi;
  let used = 0;
  const by = () => ({ provider_id: provider.id });
  const next = () => {
    const person = people[used++];
    if (!person) throw new Error('More people are needed.');
    return person;
  };
  const tokenFor = async (person: ReturnType<typeof somebody>): Promise<string> =>
    (await signInBy(api, by(), person)).body.error.join_token;
  const post = (path: string, body: object, token?: string) => api.call('POST', path, { body, token });
  const run = async (text: ReturnType<typeof sql>) => (await testDeps()).db.run(text);
  const accountWith = async (email: string): Promise<TestAdministrator> => {
    const account = await buildAdministrator();
    await run(sql`UPDATE administrators SET email = ${email} WHERE id = ${account.id}`);
    return { ...account, email };
  };
  /** The codes that were mailed for the newest join of an address. */
  const codesFor = async (email: string): Promise<string[]> => {
    const { db, vault } = await testDeps();
    const rows = await db.rows<{ id: Id }>(sql`
      SELECT token.id FROM one_time_tokens token JOIN identity_joins opened ON opened.id = token.identity_join_id
       WHERE opened.email = ${email} ORDER BY token.id`);
    return rows.map(({ id }) => tokenText(vault, 'administrator_identity_code', id));
  };
  const mailsTo = async (administratorId: Id): Promise<string[]> => {
    const { db } = await testDeps();
    const rows = await db.rows<{ template: string }>(
      sql`SELECT template FROM transactional_mails WHERE administrator_id = ${administratorId} AND template <> 'administrator_new_device'
         ORDER BY created_at, id`,
    );
    return rows.map(({ template }) => template);
  };

  before(async () => {
    provider = await startProvider([...people, unverified]);
    api = await serveWithProviders([provider]);
  });
  after(async () => {
    await api.close();
    await provider.stop();
  });

  it('gets the same answer whether or not an account has its address, and joins none', async () => {
    const [known, unknown] = [next(), next()];
    await accountWith(known.email);
    const answers = [await signInBy(api, by(), known), await signInBy(api, by(), unknown)];
    for (const answer of answers) expectError(answer, 'identity_not_joined');
    const texts = answers.map((answer) =>
      visible({ ...answer, text: answer.text.replace(/"join_token":"[^"]+"/, '') }),
    );
    expect(texts[0]).to.equal(texts[1]);
  });

  it('joins by the password of an account with another address, and informs its owner', async () => {
    const person = next();
    const account = await buildAdministrator();
    const joined = await joinBy(api, by(), person, { email: account.email, password });
    expect(joined.body.data.administrator.id).to.equal(account.id);
    expect(await mailsTo(account.id)).to.deep.equal(['administrator_identity_joined']);
    expect((await signInBy(api, by(), person)).body.data.administrator.id).to.equal(account.id);
  });

  it('does not join by a wrong password', async () => {
    const person = next();
    const account = await buildAdministrator();
    const token = await tokenFor(person);
    expectError(
      await post(join, { join_token: token, email: account.email, password: 'wrong' }),
      'invalid_credentials',
    );
    expect((await post(join, { join_token: token, email: account.email, password })).status).to.equal(200);
    expectError(await post(join, { join_token: token, email: account.email, password }), 'provider_sign_in_failed');
  });

  it('joins by a mailed code, and opens an account without a password if there is none', async () => {
    const person = next();
    const token = await tokenFor(person);
    expect((await post(`${join}/codes`, { join_token: token })).status).to.equal(202);
    const [code = ''] = await codesFor(person.email);
    expect(code).to.match(/^[BCDFGHJKLMNPQRSTVWXZ2-9]{4}-[BCDFGHJKLMNPQRSTVWXZ2-9]{4}$/);
    const { body, status } = await post(join, { join_token: token, code: code.toLowerCase().replace('-', ' ') });
    expect(status).to.equal(200);
    expect(body.data.administrator).to.include({
      email: person.email,
      name: 'Grace Example',
      verified: true,
      has_password: false,
    });
  });

  it('joins the account of the address by a mailed code', async () => {
    const person = next();
    const account = await accountWith(person.email);
    const token = await tokenFor(person);
    await post(`${join}/codes`, { join_token: token });
    const [code = ''] = await codesFor(person.email);
    expect((await post(join, { join_token: token, code })).body.data.administrator.id).to.equal(account.id);
  });

  it('ends after five wrong codes, and refuses the code of another join', async () => {
    const [person, other] = [next(), next()];
    const [token, otherToken] = [await tokenFor(person), await tokenFor(other)];
    await post(`${join}/codes`, { join_token: token });
    await post(`${join}/codes`, { join_token: otherToken });
    const [[code = ''], [otherCode = '']] = [await codesFor(person.email), await codesFor(other.email)];
    for (let tries = 0; tries < joinRules.tries; tries++)
      expectError(await post(join, { join_token: token, code: otherCode }), 'provider_sign_in_failed');
    expectError(await post(join, { join_token: token, code }), 'provider_sign_in_failed');
    expect((await post(join, { join_token: otherToken, code: otherCode })).status).to.equal(200);
  });

  it('expires after 15 minutes', async () => {
    const person = next();
    const { email } = await buildAdministrator();
    const token = await tokenFor(person);
    clock.advance(joinRules.lifetimeMs);
    expectError(await post(join, { join_token: token, email, password }), 'provider_sign_in_failed');
    expectError(await post(`${join}/codes`, { join_token: token }), 'provider_sign_in_failed');
  });

  it('gets no code if the provider has not verified its address', async () => {
    expectError(await post(`${join}/codes`, { join_token: await tokenFor(unverified) }), 'invalid_request');
  });

  it('needs the second factor of the account, and then joins by the session', async () => {
    const person = next();
    const account = await buildAdministrator();
    await run(sql`UPDATE administrators SET has_second_factor = true WHERE id = ${account.id}`);
    const token = await tokenFor(person);
    expectError(await post(join, { join_token: token, email: account.email, password }), 'second_factor_required');
    expectError(await signInBy(api, by(), person), 'identity_not_joined');
    const again = await tokenFor(person);
    expectError(await post('/v1/me/identities', { join_token: again }, account.token), 'fresh_factor_required');
    await run(sql`UPDATE administrator_sessions SET second_factor_at = now() WHERE administrator_id = ${account.id}`);
    expect((await post('/v1/me/identities', { join_token: again }, account.token)).status).to.equal(201);
    expectError(await signInBy(api, by(), person), 'second_factor_required');
  });

  it('is listed and removed by its owner, unless it is the last way to sign in', async () => {
    const person = next();
    const account = await buildAdministrator();
    const { body } = await joinBy(api, by(), person, { email: account.email, password });
    const me = { token: account.token };
    const [identity] = (await api.call('GET', '/v1/me/identities', me)).body.data.identities;
    expect(identity).to.include({ provider_id: provider.id, provider_name: 'Harbour Group', email: person.email });
    expect((await api.call('DELETE', '/v1/me/password', me)).status).to.equal(204);
    expect((await api.call('GET', '/v1/me', me)).body.data.has_password).to.equal(false);
    const path = `/v1/me/identities/${identity.id}`;
    expectError(await api.call('DELETE', path, me), 'last_sign_in_method');
    await run(sql`UPDATE administrators SET password_hash = 'any' WHERE id = ${account.id}`);
    expectError(await api.call('DELETE', path, { token: (await buildAdministrator()).token }), 'not_found');
    expect((await api.call('DELETE', path, me)).status).to.equal(204);
    expectError(await api.call('GET', '/v1/me', { token: body.data.token }), 'unauthenticated');
    expect(await mailsTo(account.id)).to.deep.equal([
      'administrator_identity_joined',
      'administrator_password_changed',
      'administrator_identity_removed',
    ]);
  });

  it('lets an invited person without an account accept the invitation without a password', async () => {
    const person = next();
    const club = await buildClub();
    const invited = `${newId()}@example.com`;
    await call('POST', `/v1/clubs/${club.id}/members`, {
      token: club.owner.token,
      body: { email: invited, role: 'editor' },
    });
    const { db, vault } = await testDeps();
    const row = await db.one<{ id: Id }>(sql`
      SELECT token.id FROM one_time_tokens token JOIN invitations invitation ON invitation.id = token.invitation_id
       WHERE invitation.email = ${invited}`);
    const invitation = tokenText(vault, 'administrator_invitation', row?.id ?? '');
    const accept = '/v1/auth/admin/invitations/accept';
    expectError(await post(accept, { token: invitation, join_token: 'unknown' }), 'token_gone');
    const { body } = await post(accept, { token: invitation, join_token: await tokenFor(person) });
    expect(body.data.administrator).to.include({ email: invited, has_password: false, name: 'Grace Example' });
    const signedIn = await signInBy(api, by(), person);
    expect(signedIn.body.data.administrator.organizations).to.have.length(1);
  });

  it('gets answers in equal time whether or not the address has an account', async () => {
    const attempt = (email: string) => async () => {
      const answer = await post(join, { join_token: 'unknown', email, password: 'wrong password' });
      expectError(answer, 'invalid_credentials');
    };
    await expectSameTime({
      'a known address': async () => attempt((await buildAdministrator()).email),
      'an unknown address': async () => attempt(`${newId()}@example.com`),
    });
  }).timeout(300_000);

  it('is started in equal time for a club without a provider and an unknown club', async () => {
    const { db } = await testDeps();
    const { id } = await buildClub();
    const club = await db.one<{ slug: string }>(sql`SELECT slug FROM clubs WHERE id = ${id}`);
    const attempt = (slug: string) => async () => {
      const answer = await post('/v1/auth/admin/providers/start', { club: slug });
      expectError(answer, 'provider_sign_in_failed');
    };
    await expectSameTime({
      'a club without a provider': async () => attempt(club?.slug ?? ''),
      'an unknown club': async () => attempt('no-such-club'),
    });
  }).timeout(300_000);
});
