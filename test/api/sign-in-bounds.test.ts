/**
 * Tests the limit on wrong passwords for an account (LIM-26). Strangers can neither lock out the owner's devices nor learn whether an
 * account exists.
 */
import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { startApi, type RunningApi } from '../../api/server.ts';
import { newId } from '../../platform/core/ids.ts';
import { buildAdministrator, buildClub, buildStudent, password } from '../toolkit/builders/clubs.ts';
import { callAt, counterDeadlineMs, someAddress, testConfig, type Answer } from '../toolkit/drive/api.ts';
import { visible } from '../toolkit/drive/api.ts';

const quarterMs = 15 * 60_000;

interface Credentials {
  email: string;
  password: string;
  club_id?: string;
  device_token?: string;
}

const kinds: Record<string, () => Promise<{ path: string; mine: Credentials }>> = {
  student: async () => {
    const club = await buildClub();
    const { email } = await buildStudent(club.id);
    return { path: '/v1/auth/sign-in', mine: { club_id: club.id, email, password } };
  },
  administrator: async () => {
    const { email } = await buildAdministrator();
    return { path: '/v1/auth/admin/sign-in', mine: { email, password } };
  },
};

describe('wrong passwords', function () {
  this.timeout(60_000);
  /** 12:00 UTC on a random day. */
  const start = Date.UTC(2027, 0, 1 + randomInt(300), 12);
  let now = start;
  let api: RunningApi;
  before(async () => {
    api = await startApi(await testConfig(), { clock: () => new Date(now), counterDeadlineMs });
  });
  after(() => api.stop());
  beforeEach(() => {
    now = start;
  });

  for (const [name, make] of Object.entries(kinds)) {
    describe(`of an account (${name})`, () => {
      let path: string;
      let mine: Credentials;
      beforeEach(async () => {
        ({ path, mine } = await make());
      });

      const signIn = (body: Credentials, ip = someAddress()): Promise<Answer> =>
        callAt(`http://127.0.0.1:${api.port}`, 'POST', path, { body, ip });
      const outcome = async (answer: Promise<Answer>) => {
        const { status, body, headers } = await answer;
        return [status, body?.error?.code, headers.get('retry-after')].filter(Boolean).join(' ');
      };
      const wrong = (of: Credentials = mine): Credentials => ({ ...of, password: 'not the password' });
      const attack = async (of: Credentials, times: number) => {
        const outcomes: string[] = [];
        for (let n = 0; n < times; n += 1) outcomes.push(await outcome(signIn(wrong(of))));
        return outcomes;
      };
      const refused = (seconds = 900) => `429 rate_limited ${seconds}`;

      it('are limited to ten in 15 minutes, except from a network where the person signed in before', async () => {
        const home = someAddress();
        expect((await signIn(mine, home)).status).to.equal(200);
        const outcomes = await attack(mine, 14);
        expect(outcomes.slice(0, 10)).to.deep.equal(Array<string>(10).fill('401 invalid_credentials'));
        expect(outcomes.slice(10)).to.deep.equal(Array<string>(4).fill(refused()));
        expect((await signIn(mine, home)).status).to.equal(200);
        now += 2 * quarterMs; // the attack continues
        await attack(mine, 14);
        expect((await signIn(mine, home)).status).to.equal(200);
      });

      it('do not lock out a device that the person has used before', async () => {
        const first = await signIn(mine);
        const token: string = first.body.data.device_token;
        expect(token).to.match(/^[\w-]{46}$/);
        await attack(mine, 12);
        expect(await outcome(signIn(mine))).to.equal(refused());
        const again = await signIn({ ...mine, device_token: token });
        expect(again.status).to.equal(200);
        expect(again.body.data.device_token)
          .to.match(/^[\w-]{46}$/)
          .and.not.equal(token);
      });

      it('do not reveal an account, because an unknown address has the same limit', async () => {
        const unknown = { ...mine, email: `${newId()}@example.com` };
        expect(await attack(unknown, 12)).to.deep.equal(await attack(mine, 12));
        const [one, other] = [await signIn(wrong()), await signIn(wrong(unknown))];
        expect(visible(one)).to.equal(visible(other));
      });

      it('no longer count when the 15 minutes end, even if refused tries followed', async () => {
        await attack(mine, 40);
        now = start + quarterMs - 1_000;
        expect(await outcome(signIn(mine))).to.equal(refused(1));
        now = start + quarterMs;
        expect((await signIn(mine)).status).to.equal(200);
      });

      it('have a separate limit for a known device', async () => {
        const { body } = await signIn(mine);
        const device: string = body.data.device_token;
        for (let n = 0; n < 10; n += 1)
          expect(await outcome(signIn({ ...mine, password: 'wrong', device_token: device }))).to.match(/^401 /);
        expect(await outcome(signIn({ ...mine, device_token: device }))).to.equal(refused());
        expect((await signIn(mine)).status).to.equal(200);
      });

      it('do not include correct passwords, even of thirty sign-ins', async () => {
        const answers = await Promise.all(Array.from({ length: 8 }, () => signIn(mine)));
        for (let n = 0; n < 22; n += 1) answers.push(await signIn(mine));
        expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([200]));
      });

      it('count as guesses of a stranger if the device token is altered, old or of another account', async () => {
        const stranger = await make();
        const other = await callAt(`http://127.0.0.1:${api.port}`, 'POST', stranger.path, {
          body: stranger.mine,
          ip: someAddress(),
        });
        const { body } = await signIn(mine);
        const token: string = body.data.device_token;
        await attack(mine, 10);
        const altered = `${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`;
        for (const device of [other.body.data.device_token, altered, 'x'])
          expect(await outcome(signIn({ ...mine, device_token: device }))).to.equal(refused());
        now = start + 181 * 86_400_000;
        await attack(mine, 10);
        expect(await outcome(signIn({ ...mine, device_token: token }))).to.equal(refused());
      });
    });
  }
});
