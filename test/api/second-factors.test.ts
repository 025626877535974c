/** Tests how administrators add, rename and remove second factors, and replace recovery codes (FAC-4, FAC-6). */
import { expect } from 'chai';
import { factorRules } from '../../domain/identity/factors/factors.ts';
import { recoveryCodeCount } from '../../domain/identity/factors/recovery-codes.ts';
import { openSession } from '../../domain/identity/sessions/sessions.ts';
import { newId } from '../../platform/core/ids.ts';
import { Transaction } from '../../platform/infra/postgres/database.ts';
import { buildAdministrator, buildClub, password, type TestAdministrator } from '../toolkit/builders/clubs.ts';
import { buildSecondFactor, totpCodeOf, wrongTotpCodeOf } from '../toolkit/builders/second-factors.ts';
import { call, expectError, type Answer } from '../toolkit/drive/api.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

const path = '/v1/me/second-factors';
const query = async <Row>(text: string, values: unknown[]): Promise<Row[]> =>
  (await testDatabase()).query<Row[]>(text, values);

describe('second factors of an administrator', () => {
  let person: TestAdministrator;
  beforeEach(async () => {
    person = await buildAdministrator();
  });

  const list = (token = person.token) => call('GET', path, { token });
  const begin = (token = person.token) => call('POST', `${path}/totp`, { token, body: { name: 'My phone' } });
  const confirm = (id: string, code: string, token = person.token) =>
    call('POST', `${path}/${id}/confirm`, { token, body: { code } });
  const remove = (id: string, token = person.token) => call('DELETE', `${path}/${id}`, { token });
  const enroll = async (): Promise<{ id: string; secret: string; answer: Answer }> => {
    const { id, secret } = (await begin()).body.data;
    return { id, secret, answer: await confirm(id, totpCodeOf({ secret })) };
  };
  const hasSecondFactor = async () => {
    const [row] = await query<{ has: boolean }>(`SELECT has_second_factor AS has FROM administrators WHERE id = $1`, [
      person.id,
    ]);
    return row?.has;
  };
  const setProof = (minutesAgo: number) =>
    query(
      `UPDATE administrator_sessions SET created_at = created_at - $2 * interval '1 minute',
              proved_at = proved_at - $2 * interval '1 minute', second_factor_at = second_factor_at - $2 * interval '1 minute'
        WHERE administrator_id = $1`,
      [person.id, minutesAgo],
    );
  const mails = async () =>
    (
      await query<{ template: string }>(
        `SELECT template FROM transactional_mails WHERE administrator_id = $1 ORDER BY created_at`,
        [person.id],
      )
    ).map(({ template }) => template);

  it('begin with a secret that opens nothing before its first code', async () => {
    const { status, body } = await begin();
    expect(status).to.equal(200);
    expect(body.data.secret).to.match(/^[A-Z2-7]{32}$/);
    const uri = new URL(body.data.uri);
    expect([uri.protocol, uri.host, uri.searchParams.get('secret')]).to.deep.equal([
      'otpauth:',
      'totp',
      body.data.secret,
    ]);
    expect(decodeURIComponent(uri.pathname)).to.include(person.email);
    expect((await list()).body.data).to.deep.equal({ factors: [], recovery_codes_left: 0 });
    expect(await hasSecondFactor()).to.equal(false);
  });

  it('are confirmed by a code, with ten recovery codes and a mail', async () => {
    const { id, answer } = await enroll();
    expect(answer.status).to.equal(200);
    expect(answer.body.data.factor).to.include({ id, kind: 'totp', name: 'My phone' });
    expect(new Set(answer.body.data.recovery_codes).size).to.equal(recoveryCodeCount);
    expect((await list()).body.data).to.deep.include({ recovery_codes_left: recoveryCodeCount });
    expect([await hasSecondFactor(), await mails()]).to.deep.equal([true, ['administrator_factor_added']]);
  });

  it('store the secret sealed, and recovery codes as hashes', async () => {
    const { secret, answer } = await enroll();
    const rows = await query<{ text: string }>(
      `SELECT encode(secret, 'escape') AS text FROM second_factors WHERE administrator_id = $1
       UNION ALL SELECT encode(code_hash, 'escape') FROM recovery_codes WHERE administrator_id = $1`,
      [person.id],
    );
    const stored = rows.map(({ text }) => text).join('\n');
    for (const plain of [secret, ...answer.body.data.recovery_codes]) expect(stored).not.to.include(plain);
  });

  it('keep other sessions, and only this one counts as one with a second factor', async () => {
    const source = await testDatabase();
    const other = await source.transaction((tx) => openSession(new Transaction(tx), 'admin', person.id, new Date()));
    await enroll();
    expect((await list(other.token)).status).to.equal(200);
    expectError(await begin(other.token), 'fresh_factor_required');
    expect((await begin()).status).to.equal(200);
  });

  it('are not confirmed by a wrong code, by another person, or after 15 minutes', async () => {
    const { id, secret } = (await begin()).body.data;
    expectError(await confirm(id, wrongTotpCodeOf({ secret })), 'invalid_credentials');
    const stranger = await buildAdministrator();
    expectError(await confirm(id, totpCodeOf({ secret }), stranger.token), 'not_found');
    await query(`UPDATE second_factors SET created_at = created_at - $2 * interval '1 ms' WHERE id = $1`, [
      id,
      factorRules.setupLifetimeMs,
    ]);
    expectError(await confirm(id, totpCodeOf({ secret })), 'not_found');
    expect(await hasSecondFactor()).to.equal(false);
  });

  it('are confirmed only with a fresh factor, also if the account got one after the beginning', async () => {
    const { id, secret } = (await begin()).body.data;
    await buildSecondFactor(person.id);
    expectError(await confirm(id, totpCodeOf({ secret })), 'fresh_factor_required');
  });

  it('are confirmed once by simultaneous confirmations', async () => {
    const { id, secret } = (await begin()).body.data;
    const code = totpCodeOf({ secret });
    const answers = await Promise.all(Array.from({ length: 8 }, () => confirm(id, code)));
    const [first, ...others] = answers.map(({ status }) => status).toSorted((one, other) => one - other);
    expect(first).to.equal(200);
    // 403, if the account got its second factor between the reads of the session and of the account
    for (const status of others) expect(status).to.be.oneOf([403, 404]);
    expect((await list()).body.data).to.deep.include({ recovery_codes_left: recoveryCodeCount });
  });

  it('replace an app that was begun before and not confirmed', async () => {
    const { id, secret } = (await begin()).body.data;
    await begin();
    expectError(await confirm(id, totpCodeOf({ secret })), 'not_found');
  });

  it('are at most ten', async () => {
    const { id } = await enroll();
    await query(
      `INSERT INTO second_factors (id, administrator_id, kind, name, secret, created_at, confirmed_at)
       SELECT gen_random_uuid(), administrator_id, kind, name, secret, created_at, confirmed_at
         FROM second_factors, generate_series(2, $2) WHERE id = $1`,
      [id, factorRules.perAccount],
    );
    expectError(await begin(), 'factor_limit_reached');
  });

  it('need a fresh proof to be added, removed, or to renew recovery codes', async () => {
    await setProof(11);
    expectError(await begin(), 'fresh_factor_required');
    await setProof(-11);
    const { id } = await enroll();
    await setProof(11);
    expectError(await begin(), 'fresh_factor_required');
    expectError(await remove(id), 'fresh_factor_required');
    expectError(await call('POST', '/v1/me/recovery-codes', { token: person.token }), 'fresh_factor_required');
    expect((await list()).body.data.factors).to.have.length(1);
  });

  it('can be renamed, and not by another person', async () => {
    const { id } = await enroll();
    const rename = (token: string) => call('PATCH', `${path}/${id}`, { token, body: { name: 'Old phone' } });
    expectError(await rename((await buildAdministrator()).token), 'not_found');
    expect((await rename(person.token)).body.data).to.include({ id, name: 'Old phone' });
  });

  it('cannot be removed by another person', async () => {
    const { id } = await enroll();
    expectError(await remove(id, (await buildAdministrator()).token), 'not_found');
    expectError(await remove(newId()), 'not_found');
    expect(await hasSecondFactor()).to.equal(true);
  });

  it('end with the last one: no recovery codes, and clubs that require a factor refuse', async () => {
    const club = await buildClub();
    await query(
      `INSERT INTO memberships (club_id, administrator_id, role, joined_at) VALUES ($1, $2, 'admin', now())`,
      [club.id, person.id],
    );
    await query(`INSERT INTO club_sign_in_rules (club_id, requires_second_factor) VALUES ($1, true)`, [club.id]);
    const read = () => call('GET', `/v1/clubs/${club.id}`, { token: person.token });
    const first = await enroll();
    const second = await enroll();
    expect((await read()).status).to.equal(200);
    expect((await remove(first.id)).status).to.equal(204);
    expect([await hasSecondFactor(), (await read()).status]).to.deep.equal([true, 200]);
    expect((await remove(second.id)).status).to.equal(204);
    expect(await hasSecondFactor()).to.equal(false);
    expect((await list()).body.data).to.deep.equal({ factors: [], recovery_codes_left: 0 });
    expectError(await read(), 'club_requires_second_factor');
    expect(await mails()).to.include('administrator_factor_removed');
  });

  it('replace recovery codes, so that earlier codes end', async () => {
    const { answer } = await enroll();
    const { body } = await call('POST', '/v1/me/recovery-codes', { token: person.token });
    expect(body.data.recovery_codes).to.have.length(recoveryCodeCount);
    const prove = (code: string) =>
      call('POST', '/v1/me/proof', { token: person.token, body: { recovery_code: code } });
    expectError(await prove(answer.body.data.recovery_codes[0]), 'invalid_credentials');
    expect((await prove(body.data.recovery_codes[0])).status).to.equal(200);
    expect((await list()).body.data).to.deep.include({ recovery_codes_left: recoveryCodeCount - 1 });
    expect(await mails()).to.include.members([
      'administrator_recovery_codes_replaced',
      'administrator_recovery_code_used',
    ]);
  });

  it('have no recovery codes without a factor', async () => {
    expectError(await call('POST', '/v1/me/recovery-codes', { token: person.token }), 'no_second_factor');
  });

  it('survive a removal and simultaneous sign-ins in a consistent state', async () => {
    const factor = await buildSecondFactor(person.id);
    const proved = await call('POST', '/v1/me/proof', { token: person.token, body: { code: totpCodeOf(factor) } });
    expect(proved.status).to.equal(200);
    const { email } = person;
    const signIn = () => call('POST', '/v1/auth/admin/sign-in', { body: { email, password } });
    const [removed, ...answers] = await Promise.all([remove(factor.id), signIn(), signIn(), signIn()]);
    expect(removed.status).to.equal(204);
    for (const { status } of answers) expect(status).to.be.oneOf([200, 403]);
    const challenges = answers.filter(({ status }) => status === 403).map(({ body }) => body.error.challenge.token);
    for (const challenge of challenges) {
      const late = { challenge, code: totpCodeOf(factor, 1) };
      expectError(await call('POST', '/v1/auth/admin/second-factor', { body: late }), 'invalid_credentials');
    }
    expect((await signIn()).status).to.equal(200);
  });
});

describe('a proof in a session', () => {
  let person: TestAdministrator;
  beforeEach(async () => {
    person = await buildAdministrator();
    await query(
      `UPDATE administrator_sessions SET created_at = now() - interval '1 hour' WHERE administrator_id = $1`,
      [person.id],
    );
  });
  const prove = (body: object) => call('POST', '/v1/me/proof', { token: person.token, body });
  const begin = () => call('POST', `${path}/totp`, { token: person.token, body: { name: 'My phone' } });

  it('by the password lets an account without a second factor act for 10 minutes', async () => {
    expectError(await begin(), 'fresh_factor_required');
    const { status, body } = await prove({ password });
    expect([status, body.data.with_second_factor]).to.deep.equal([200, false]);
    expect((await begin()).status).to.equal(200);
  });

  it('by the password does not suffice for an account with a second factor', async () => {
    const factor = await buildSecondFactor(person.id);
    expect((await prove({ password })).status).to.equal(200);
    expectError(await begin(), 'fresh_factor_required');
    expect((await prove({ code: totpCodeOf(factor) })).body.data.with_second_factor).to.equal(true);
    expect((await begin()).status).to.equal(200);
  });

  it('is refused for a wrong, used or foreign factor, and for none or two', async () => {
    const factor = await buildSecondFactor(person.id);
    const foreign = await buildSecondFactor((await buildAdministrator()).id);
    const code = totpCodeOf(factor);
    expect((await prove({ code })).status).to.equal(200);
    expectError(await prove({ code }), 'invalid_credentials');
    expectError(await prove({ code: totpCodeOf(foreign) }), 'invalid_credentials');
    expectError(await prove({ password: 'not the password' }), 'invalid_credentials');
    expectError(await prove({ password: 'x', code }), 'invalid_request');
    expectError(await prove({ code, recovery_code: 'x' }), 'invalid_request');
  });

  it('waits after five wrong tries, also with a right code', async () => {
    const factor = await buildSecondFactor(person.id);
    for (let n = 0; n < 5; n += 1) expectError(await prove({ code: wrongTotpCodeOf(factor) }), 'invalid_credentials');
    expectError(await prove({ code: totpCodeOf(factor) }), 'rate_limited');
  });
});
