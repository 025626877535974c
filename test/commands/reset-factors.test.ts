/** Tests the command that removes the second factors of a person who has lost them (FAC-9). */
import { expect } from 'chai';
import { resetFactorsOf } from '../../commands/reset-factors.ts';
import { StartProblem } from '../../platform/core/start-problem.ts';
import { buildAdministrator, buildClub, password } from '../toolkit/builders/clubs.ts';
import { buildSecondFactor } from '../toolkit/builders/second-factors.ts';
import { call, expectError, testConfig } from '../toolkit/drive/api.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

const reset = async (administrator: string): Promise<string[]> => {
  const lines: string[] = [];
  expect(await resetFactorsOf(await testConfig(), administrator, (line) => lines.push(line))).to.equal(0);
  return lines;
};
const signIn = (email: string) => call('POST', '/v1/auth/admin/sign-in', { body: { email, password } });

describe('the command reset-factors', () => {
  it('removes all factors of an account, so that its password suffices, and ends its sessions', async () => {
    const { id, email, token } = await buildAdministrator();
    await buildSecondFactor(id);
    expectError(await signIn(email), 'second_factor_required');
    const [line] = await reset(id);
    expect(line).to.match(new RegExp(`^removed 1 second factors of administrator ${id}; audit entries 0, by `));
    expectError(await call('GET', '/v1/me', { token }), 'unauthenticated');
    const { status, body } = await signIn(email);
    expect(status).to.equal(200);
    const factors = await call('GET', '/v1/me/second-factors', { token: body.data.token });
    expect(factors.body.data).to.deep.equal({ factors: [], recovery_codes_left: 0 });
  });

  it('writes to the person, and to the audit log of each club of the person', async () => {
    const { id: clubId, owner } = await buildClub();
    await buildSecondFactor(owner.id);
    const [line] = await reset(owner.email.toUpperCase());
    const mails = await (
      await testDatabase()
    ).query<{ template: string }[]>(`SELECT template FROM transactional_mails WHERE administrator_id = $1`, [owner.id]);
    expect(mails).to.deep.equal([{ template: 'administrator_factor_removed' }]);
    const { token } = (await signIn(owner.email)).body.data;
    const { body } = await call('GET', `/v1/clubs/${clubId}/audit-log`, { token });
    expect(body.data[0]).to.deep.include({
      actor: { kind: 'operator', id: line?.slice(-36) },
      operation: 'reset-factors',
      records: [{ kind: 'administrator', id: owner.id }],
    });
  });

  it('changes nothing for an account without a factor, and refuses an unknown one', async () => {
    const { id, token } = await buildAdministrator();
    expect(await reset(id)).to.deep.equal([`administrator ${id} has no second factor; nothing was changed`]);
    expect((await call('GET', '/v1/me', { token })).status).to.equal(200);
    const refused: unknown = await reset('nobody@example.com').catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(StartProblem);
  });
});
