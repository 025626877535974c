/** Tests the sign-in of an administrator with a second factor: the challenge, and the session that the factor opens (FAC-3). */
import { expect } from 'chai';
import { challengesKept } from '../../domain/identity/factors/challenges.ts';
import { buildAdministrator, buildClub, password, type TestAdministrator } from '../toolkit/builders/clubs.ts';
import {
  buildSecondFactor,
  totpCodeOf,
  wrongTotpCodeOf,
  type TestSecondFactor,
} from '../toolkit/builders/second-factors.ts';
import { call, expectError, someAddress, visible, type Answer } from '../toolkit/drive/api.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';
import { issueToken, tokenText } from '../../domain/mail/codes/one-time-tokens.ts';

const signIn = ({ email }: Pick<TestAdministrator, 'email'>, ip = someAddress()): Promise<Answer> =>
  call('POST', '/v1/auth/admin/sign-in', { body: { email, password }, ip });
const finish = (body: object, ip = someAddress()): Promise<Answer> =>
  call('POST', '/v1/auth/admin/second-factor', { body, ip });
const challengeOf = (answer: Answer): string => answer.body.error.challenge.token;

describe('a sign-in with a second factor', () => {
  let person: TestAdministrator;
  let factor: TestSecondFactor;
  beforeEach(async () => {
    person = await buildAdministrator();
    factor = await buildSecondFactor(person.id);
  });
  const sessions = async (): Promise<number> => {
    const rows: unknown[] = await (
      await testDatabase()
    ).query(`SELECT FROM administrator_sessions WHERE administrator_id = $1`, [person.id]);
    return rows.length;
  };

  it('answers a right password with a challenge for five minutes, and opens no session', async () => {
    const answer = await signIn(person);
    expectError(answer, 'second_factor_required');
    const { challenge } = answer.body.error;
    expect(challenge.methods).to.deep.equal(['totp', 'recovery_code']);
    expect(Date.parse(challenge.expires_at) - Date.now()).to.be.within(4.8 * 60_000, 5 * 60_000);
    expect(await sessions()).to.equal(1);
  });

  it('opens a session that has shown a second factor by the code of the app', async () => {
    const { status, body } = await finish({ challenge: challengeOf(await signIn(person)), code: totpCodeOf(factor) });
    expect(status).to.equal(200);
    expect(body.data.administrator.email).to.equal(person.email);
    expect(body.data.device_token).to.match(/^[\w-]{46}$/);
    const [row] = await (
      await testDatabase()
    ).query<{ opened_by: string; fresh: boolean }[]>(
      `SELECT opened_by, second_factor_at = created_at AS fresh FROM administrator_sessions
        WHERE administrator_id = $1 ORDER BY created_at DESC LIMIT 1`,
      [person.id],
    );
    expect(row).to.deep.equal({ opened_by: 'password', fresh: true });
  });

  it('accepts a recovery code once, however it is typed', async () => {
    const [code = ''] = factor.recoveryCodes;
    const typed = code.toLowerCase().replace('-', ' ');
    const first = await finish({ challenge: challengeOf(await signIn(person)), recovery_code: typed });
    expect(first.status).to.equal(200);
    const again = await finish({ challenge: challengeOf(await signIn(person)), recovery_code: code });
    expectError(again, 'invalid_credentials');
  });

  it('gives one answer to a wrong, used or foreign factor and challenge', async () => {
    const stranger = await buildAdministrator();
    const foreign = await buildSecondFactor(stranger.id);
    const spent = challengeOf(await signIn(person));
    const used = totpCodeOf(factor);
    expect((await finish({ challenge: spent, code: used })).status).to.equal(200);
    const fresh = async () => challengeOf(await signIn(person));
    const answers = [
      await finish({ challenge: spent, code: totpCodeOf(factor, 1) }),
      await finish({ challenge: 'never-issued', code: totpCodeOf(factor, 1) }),
      await finish({ challenge: await fresh(), code: wrongTotpCodeOf(factor) }),
      await finish({ challenge: await fresh(), code: used }),
      await finish({ challenge: await fresh(), code: totpCodeOf(foreign) }),
      await finish({ challenge: await fresh(), recovery_code: foreign.recoveryCodes[0] }),
    ];
    for (const answer of answers) expectError(answer, 'invalid_credentials');
    expect(new Set(answers.map(visible)).size).to.equal(1);
  });

  for (const [name, end] of Object.entries({
    'a change of the password': async (token: string) => {
      const source = await testDatabase();
      await source.query(`UPDATE administrator_sessions SET second_factor_at = now() WHERE administrator_id = $1`, [
        person.id,
      ]);
      return call('PUT', '/v1/me/password', {
        token,
        body: { current_password: password, new_password: 'a quite different phrase' },
      });
    },
    'the end of all other sessions': (token: string) => call('DELETE', '/v1/me/sessions', { token }),
  }))
    it(`refuses a challenge after ${name}`, async () => {
      const challenge = challengeOf(await signIn(person));
      expect((await end(person.token)).status).to.equal(204);
      expectError(await finish({ challenge, code: totpCodeOf(factor) }), 'invalid_credentials');
    });

  it('refuses a challenge after five minutes', async () => {
    const challenge = challengeOf(await signIn(person));
    const source = await testDatabase();
    await source.query(`UPDATE sign_in_challenges SET expires_at = now() WHERE administrator_id = $1`, [person.id]);
    expectError(await finish({ challenge, code: totpCodeOf(factor) }), 'invalid_credentials');
  });

  it('refuses a request with no factor or with two', async () => {
    const challenge = challengeOf(await signIn(person));
    expectError(await finish({ challenge }), 'invalid_request');
    const both = { code: totpCodeOf(factor), recovery_code: factor.recoveryCodes[0] };
    expectError(await finish({ challenge, ...both }), 'invalid_request');
    expect((await finish({ challenge, code: totpCodeOf(factor) })).status).to.equal(200);
  });

  it('opens exactly one session for 20 simultaneous uses of a challenge', async () => {
    const challenge = challengeOf(await signIn(person));
    const code = totpCodeOf(factor);
    const answers = await Promise.all(Array.from({ length: 20 }, () => finish({ challenge, code })));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).to.have.length(1);
    expect(await sessions()).to.equal(2);
  });

  it('opens exactly one session for simultaneous uses of a code in two challenges', async () => {
    const challenges = [challengeOf(await signIn(person)), challengeOf(await signIn(person))];
    const code = totpCodeOf(factor);
    const answers = await Promise.all(challenges.map((challenge) => finish({ challenge, code })));
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).to.deep.equal([200, 401]);
  });

  it('keeps only the newest challenges of a network', async () => {
    const home = someAddress();
    const first = challengeOf(await signIn(person, home));
    for (let n = 0; n < challengesKept.ofNetwork; n += 1) await signIn(person, home);
    expectError(await finish({ challenge: first, code: totpCodeOf(factor) }), 'invalid_credentials');
    const elsewhere = challengeOf(await signIn(person));
    await signIn(person, home);
    expect((await finish({ challenge: elsewhere, code: totpCodeOf(factor) })).status).to.equal(200);
  });

  it('sets the new password of a reset, and still asks for the second factor', async () => {
    const { db, vault } = await testDeps();
    const older = challengeOf(await signIn(person));
    const purpose = 'administrator_reset_password';
    const id = await db.transaction((tx) =>
      issueToken(tx, vault, { purpose, owner: { administratorId: person.id } }, new Date()),
    );
    const body = { token: tokenText(vault, purpose, id), password: 'another fine phrase 1' };
    const answer = await call('POST', '/v1/auth/admin/password-reset/confirm', { body });
    expectError(answer, 'second_factor_required');
    expectError(await call('POST', '/v1/auth/admin/password-reset/confirm', { body }), 'token_gone');
    expectError(await signIn(person), 'invalid_credentials');
    expect(await sessions()).to.equal(0);
    expectError(await finish({ challenge: older, code: totpCodeOf(factor) }), 'invalid_credentials');
    expect((await finish({ challenge: challengeOf(answer), code: totpCodeOf(factor) })).status).to.equal(200);
  });

  it('makes an invited person a member before the second factor', async () => {
    const club = await buildClub();
    const { db, vault } = await testDeps();
    const invited = await call('POST', `/v1/clubs/${club.id}/members`, {
      token: club.owner.token,
      body: { email: person.email, role: 'editor' },
    });
    const [row] = await (
      await testDatabase()
    ).query<{ id: string }[]>(`SELECT token_id AS id FROM transactional_mails WHERE invitation_id = $1`, [
      invited.body.data.invitation_id,
    ]);
    const token = tokenText(vault, 'administrator_invitation', row?.id ?? '');
    const answer = await call('POST', '/v1/auth/admin/invitations/accept', { body: { token } });
    expectError(answer, 'second_factor_required');
    const members = await db.source.query<unknown[]>(
      `SELECT FROM memberships WHERE club_id = $1 AND administrator_id = $2`,
      [club.id, person.id],
    );
    expect(members).to.have.length(1);
  });
});
