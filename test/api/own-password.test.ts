/** Tests the change of the own password, for both kinds of people (SES-7). */
import { expect } from 'chai';
import type { Id } from '../../platform/core/ids.ts';
import { buildClub, password } from '../toolkit/builders/clubs.ts';
import { buildSecondFactor } from '../toolkit/builders/second-factors.ts';
import { mailedToken, openFurtherSession } from '../toolkit/builders/sessions.ts';
import { administratorAccounts, studentAccounts, type AccountKind } from '../toolkit/drive/accounts.ts';
import { call, clock, expectError } from '../toolkit/drive/api.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

const other = 'a quite different phrase';

const kinds = {
  student: async () => studentAccounts((await buildClub()).id),
  administrator: async () => administratorAccounts(),
} as const;

for (const [name, kindOf] of Object.entries(kinds))
  describe(`the own password of ${name === 'student' ? 'a student' : 'an administrator'}`, () => {
    let accounts: AccountKind;
    let account: Awaited<ReturnType<AccountKind['build']>>;
    beforeEach(async () => {
      accounts = await kindOf();
      account = await accounts.build();
    });

    const change = (body: object, token = account.token) => call('PUT', '/v1/me/password', { token, body });
    const right = { current_password: password, new_password: other };
    const withoutPassword = async () => {
      const table = name === 'student' ? 'students' : 'administrators';
      await (await testDatabase()).query(`UPDATE ${table} SET password_hash = NULL WHERE id = $1`, [account.id]);
    };
    const mailsTo = async (id: Id): Promise<string[]> => {
      const rows = await (
        await testDatabase()
      ).query(
        `SELECT template FROM transactional_mails WHERE $1 IN (student_id, administrator_id) AND template NOT LIKE '%_new_device' ORDER BY created_at`,
        [id],
      );
      return rows.map(({ template }: { template: string }) => template);
    };

    it('replaces the password, keeps this session, ends the others, and mails a notice', async () => {
      const further = await openFurtherSession(accounts.name === 'student' ? 'student' : 'admin', account.id);
      expect((await change(right)).status).to.equal(204);
      expect((await accounts.read(account.token)).status).to.equal(200);
      expectError(await accounts.read(further), 'unauthenticated');
      expectError(await accounts.signIn(account.email, password), 'invalid_credentials');
      expect((await accounts.signIn(account.email, other)).status).to.equal(200);
      expect(await mailsTo(account.id)).to.deep.equal([`${accounts.name}_password_changed`]);
    });

    if (name === 'administrator')
      it('is changed only after a fresh second factor, if the account has one', async () => {
        await buildSecondFactor(account.id);
        expectError(await change(right), 'fresh_factor_required');
        await (
          await testDatabase()
        ).query(`UPDATE administrator_sessions SET second_factor_at = now() WHERE administrator_id = $1`, [account.id]);
        expect((await change(right)).status).to.equal(204);
      });

    it('makes mailed tokens invalid', async () => {
      await accounts.requestReset(account.email);
      const token = await mailedToken(accounts.purposes.reset, account.id);
      await change(right);
      expectError(await accounts.confirmReset(token, 'yet another phrase'), 'token_gone');
    });

    it('returns 401 for a wrong and a missing password, and changes nothing', async () => {
      expectError(await change({ ...right, current_password: 'a wrong password' }), 'invalid_credentials');
      expectError(await change({ new_password: other }), 'invalid_credentials');
      expect((await accounts.signIn(account.email, password)).status).to.equal(200);
      expect(await mailsTo(account.id)).to.deep.equal([]);
    });

    it('returns 422 weak_password only after the right password', async () => {
      expectError(await change({ ...right, new_password: 'password12' }), 'weak_password');
      expectError(await change({ ...right, new_password: account.email }), 'weak_password');
      expectError(
        await change({ current_password: 'a wrong password', new_password: 'password12' }),
        'invalid_credentials',
      );
    });

    it('limits wrong passwords for each session, and leaves sign-ins alone', async () => {
      const wrong = { ...right, current_password: 'a wrong password' };
      for (let count = 1; count <= 10; count++) expectError(await change(wrong), 'invalid_credentials');
      expectError(await change(right), 'rate_limited');
      expect((await accounts.signIn(account.email, password)).status).to.equal(200);
      const further = await openFurtherSession(accounts.name === 'student' ? 'student' : 'admin', account.id);
      expect((await change(right, further)).status).to.equal(204);
    });

    it('lets only one of two simultaneous changes succeed', async () => {
      const answers = await Promise.all([change(right), change({ ...right, new_password: 'yet another phrase' })]);
      expect(answers.map(({ status }) => status).toSorted((low, high) => low - high)).to.deep.equal([204, 401]);
    });

    it('lets a person without a password choose the first one', async () => {
      await withoutPassword();
      expectError(await change(right), 'invalid_credentials');
      expect((await change({ new_password: other })).status).to.equal(204);
      expect((await accounts.signIn(account.email, other)).status).to.equal(200);
    });

    it(`${name === 'student' ? 'needs no' : 'needs a'} fresh proof for the first password`, async () => {
      await withoutPassword();
      clock.advance(11 * 60_000);
      const answer = await change({ new_password: other });
      if (name === 'student') expect(answer.status).to.equal(204);
      else expectError(answer, 'fresh_factor_required');
    });
  });
