/** Tests what a club requires of the sign-in of its members (FAC-1), and the fresh factor of sensitive operations (FAC-2). */
import { expect } from 'chai';
import { buildClub, buildMember, type TestAdministrator, type TestClub } from '../toolkit/builders/clubs.ts';
import { newId } from '../../platform/core/ids.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

const minute = 60_000;
const noRules = { requires_second_factor: false, requires_provider: false };

/** Changes all sessions of an administrator. @param minutesAgo the age of the proof; null for no such proof */
async function prove(
  { id }: TestAdministrator,
  { signIn = 0, secondFactor = null }: { signIn?: number; secondFactor?: number | null },
): Promise<void> {
  const at = (minutesAgo: number | null) => (minutesAgo === null ? null : new Date(Date.now() - minutesAgo * minute));
  const source = await testDatabase();
  await source.query(
    `UPDATE administrator_sessions SET created_at = $2, second_factor_at = $3 WHERE administrator_id = $1`,
    [id, at(signIn), at(secondFactor)],
  );
}

async function enroll({ id }: TestAdministrator): Promise<void> {
  await (await testDatabase()).query(`UPDATE administrators SET has_second_factor = true WHERE id = $1`, [id]);
}

describe('the sign-in rules of a club', () => {
  let club: TestClub;
  const path = () => `/v1/clubs/${club.id}/sign-in-rules`;
  const read = (token: string) => call('GET', path(), { token });
  const require = (token: string, required: boolean) =>
    call('PUT', path(), { token, body: { requires_second_factor: required } });

  beforeEach(async () => {
    club = await buildClub();
  });

  it('require nothing in a new club', async () => {
    expect((await read(club.owner.token)).body.data).to.deep.equal(noRules);
  });

  it('are refused if the owner does not satisfy them', async () => {
    expectError(await require(club.owner.token, true), 'sign_in_rule_not_met');
    expect((await read(club.owner.token)).body.data).to.deep.equal(noRules);
  });

  it('keep members without a second factor out of the club, but not out of their profile', async () => {
    const member = await buildMember(club.id, 'admin');
    await prove(club.owner, { secondFactor: 0 });
    expect((await require(club.owner.token, true)).body.data).to.deep.equal({
      requires_second_factor: true,
      requires_provider: false,
    });
    expectError(await read(member.token), 'club_requires_second_factor');
    expect((await call('GET', '/v1/me', { token: member.token })).status).to.equal(200);
    await prove(member, { secondFactor: 60 });
    expect((await read(member.token)).status).to.equal(200);
  });

  it('show nothing to people who are no members', async () => {
    await prove(club.owner, { secondFactor: 0 });
    await require(club.owner.token, true);
    const stranger = (await buildClub()).owner;
    expectError(await read(stranger.token), 'forbidden');
  });

  it('keep members out who did not sign in with the required provider', async () => {
    const providerId = newId();
    const source = await testDatabase();
    await source.query(
      `INSERT INTO identity_providers (id, club_id, name, issuer, client_id, sealed_client_secret, email_domains, created_at, updated_at)
       VALUES ($1, $2, 'Ours', 'https://login.example.com', 'client', '', '{example.com}', now(), now())`,
      [providerId, club.id],
    );
    await source.query(
      `INSERT INTO club_sign_in_rules (club_id, requires_second_factor, required_provider_id) VALUES ($1, false, $2)`,
      [club.id, providerId],
    );
    const member = await buildMember(club.id, 'admin');
    expectError(await read(member.token), 'club_requires_provider');
    await source.query(`UPDATE administrator_sessions SET provider_id = $2 WHERE administrator_id = $1`, [
      member.id,
      providerId,
    ]);
    expect((await read(member.token)).status).to.equal(200);
  });
});

describe('the fresh factor', () => {
  let club: TestClub;
  beforeEach(async () => {
    club = await buildClub();
  });

  const setRules = () =>
    call('PUT', `/v1/clubs/${club.id}/sign-in-rules`, {
      token: club.owner.token,
      body: { requires_second_factor: false },
    });
  const invite = () =>
    call('POST', `/v1/clubs/${club.id}/members`, {
      token: club.owner.token,
      body: { email: `${newId()}@example.com`, role: 'editor' },
    });

  it('is the sign-in of the last 10 minutes for an account without a second factor', async () => {
    await prove(club.owner, { signIn: 9 });
    expect((await setRules()).status).to.equal(200);
    await prove(club.owner, { signIn: 11 });
    expectError(await setRules(), 'fresh_factor_required');
  });

  it('is the second factor for an account that has one', async () => {
    await enroll(club.owner);
    await prove(club.owner, { signIn: 0, secondFactor: 11 });
    expectError(await setRules(), 'fresh_factor_required');
    await prove(club.owner, { signIn: 600, secondFactor: 9 });
    expect((await setRules()).status).to.equal(200);
  });

  it('is not needed for older operations by an account without a second factor', async () => {
    await prove(club.owner, { signIn: 600 });
    expect((await invite()).status).to.equal(201);
    await enroll(club.owner);
    expectError(await invite(), 'fresh_factor_required');
  });

  it('is needed to erase, to export, and to give a key more rights', async () => {
    const { token } = club.owner;
    const at = (method: string, path: string, body?: object) =>
      call(method, `/v1/clubs/${club.id}/${path}`, { token, body });
    const acts = () => [
      at('DELETE', `students/${newId()}`),
      at('GET', 'audit-log/export'),
      at('PATCH', `api-keys/${newId()}`, { scopes: ['students:write'] }),
    ];
    const statuses = (await Promise.all(acts())).map(({ status }) => status);
    expect(statuses).to.deep.equal([404, 200, 404]);
    await enroll(club.owner);
    for (const answer of await Promise.all(acts())) expectError(answer, 'fresh_factor_required');
  });
});
