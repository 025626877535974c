/** Tests that the time of an answer reveals neither an account, nor its second factor, nor a challenge (FAC-3). */
import { newId } from '../../platform/core/ids.ts';
import { expect } from 'chai';
import { expectSameTime } from '../toolkit/assert/same-time.ts';
import { buildAdministrator, password } from '../toolkit/builders/clubs.ts';
import { buildSecondFactor } from '../toolkit/builders/second-factors.ts';
import { call, someAddress, type Answer } from '../toolkit/drive/api.ts';

const post = (path: string, body: object): Promise<Answer> =>
  call('POST', `/v1/auth/admin/${path}`, { body, ip: someAddress() });
const refused = async (answer: Promise<Answer>) => expect((await answer).status).to.equal(401);

/** Signs in with a wrong password. */
const wrongPassword = async (email: string) => async () =>
  refused(post('sign-in', { email, password: 'not the password' }));

describe('response times of sign-ins with a second factor', function () {
  this.timeout(600_000);

  it('do not differ between an unknown address and a wrong password of an account with a factor', async () => {
    await expectSameTime({
      unknown: () => wrongPassword(`administrator-${newId()}@example.com`),
      'with a second factor': async () => {
        const { id, email } = await buildAdministrator();
        await buildSecondFactor(id);
        return wrongPassword(email);
      },
    });
  });

  for (const [kind, proof] of Object.entries({
    code: { code: '000000' },
    'recovery code': { recovery_code: 'AAAAA-AAAAA' },
  }))
    it(`do not differ between an unknown challenge and a wrong ${kind}`, async () => {
      const finish = (challenge: string) => async () => refused(post('second-factor', { challenge, ...proof }));
      await expectSameTime({
        'a wrong factor': async () => {
          const { id, email } = await buildAdministrator();
          await buildSecondFactor(id);
          const { body } = await post('sign-in', { email, password });
          return finish(body.error.challenge.token);
        },
        'an unknown challenge': async () => finish(newId().padEnd(43, 'x')),
      });
    });
});
