/** Tests the limit on wrong second factors (FAC-7). A stranger who knows the password can neither guess on nor lock out the owner. */
import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { issueToken, tokenText } from '../../domain/mail/codes/one-time-tokens.ts';
import { startApi, type RunningApi } from '../../api/server.ts';
import { buildAdministrator, password, type TestAdministrator } from '../toolkit/builders/clubs.ts';
import {
  buildSecondFactor,
  totpCodeOf,
  wrongTotpCodeOf,
  type TestSecondFactor,
} from '../toolkit/builders/second-factors.ts';
import { callAt, counterDeadlineMs, someAddress, testConfig, visible, type Answer } from '../toolkit/drive/api.ts';
import { testDeps } from '../toolkit/stack/database.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

describe('wrong second factors', function () {
  this.timeout(60_000);
  /** 12:00 UTC on a random day. */
  const start = Date.UTC(2027, 0, 1 + randomInt(300), 12);
  let now = start;
  let api: RunningApi;
  let person: TestAdministrator;
  let factor: TestSecondFactor;
  before(async () => {
    api = await startApi(await testConfig(), { clock: () => new Date(now), counterDeadlineMs });
  });
  after(() => api.stop());
  beforeEach(async () => {
    now = start;
    person = await buildAdministrator();
    factor = await buildSecondFactor(person.id);
  });

  const post = (path: string, body: object, ip: string): Promise<Answer> =>
    callAt(`http://127.0.0.1:${api.port}`, 'POST', `/v1/auth/admin/${path}`, { body, ip });
  const challenge = async (ip: string, device: object = {}): Promise<string> => {
    const answer = await post('sign-in', { email: person.email, password, ...device }, ip);
    return answer.body.error.challenge.token;
  };
  const finish = async (code: string, ip = someAddress(), device: object = {}): Promise<Answer> =>
    post('second-factor', { challenge: await challenge(ip, device), code, ...device }, ip);
  const outcome = ({ status, body, headers }: Answer) =>
    [status, body?.error?.code, headers.get('retry-after')].filter(Boolean).join(' ');
  const attack = async (times: number): Promise<string[]> => {
    const outcomes: string[] = [];
    for (let n = 0; n < times; n += 1) outcomes.push(outcome(await finish(wrongTotpCodeOf(factor, now))));
    return outcomes;
  };
  const wrong = '401 invalid_credentials';

  it('are limited to five in 15 minutes, and a right code then opens nothing', async () => {
    expect(await attack(7)).to.deep.equal([
      ...Array<string>(5).fill(wrong),
      ...Array<string>(2).fill('429 rate_limited 900'),
    ]);
    expect(outcome(await finish(totpCodeOf(factor, 0, now)))).to.equal('429 rate_limited 900');
    now += 15 * minuteMs;
    expect((await finish(totpCodeOf(factor, 0, now))).status).to.equal(200);
  });

  it('are limited to twenty in a day, so that the wait grows', async () => {
    for (let quarter = 0; quarter < 4; quarter += 1) {
      expect(await attack(5)).to.deep.equal(Array<string>(5).fill(wrong));
      now += 15 * minuteMs;
    }
    const untilMidnight = dayMs - ((now - Date.UTC(2027, 0, 1)) % dayMs);
    expect(await attack(1)).to.deep.equal([`429 rate_limited ${untilMidnight / 1_000}`]);
  });

  it('of a stranger do not lock out a device or a network of the owner, nor a sign-in by mail', async () => {
    const home = someAddress();
    const { body } = await finish(totpCodeOf(factor, 0, now), home);
    now += minuteMs;
    await attack(6);
    const elsewhere = someAddress();
    const device = { device_token: body.data.device_token };
    expect((await finish(totpCodeOf(factor, 0, now), elsewhere, device)).status).to.equal(200);
    now += minuteMs;
    expect((await finish(totpCodeOf(factor, 0, now), home)).status).to.equal(200);
    now += minuteMs;
    const { db, vault } = await testDeps();
    const purpose = 'administrator_reset_password';
    const tokenId = await db.transaction((tx) =>
      issueToken(tx, vault, { purpose, owner: { administratorId: person.id } }, new Date(now)),
    );
    const reset = { token: tokenText(vault, purpose, tokenId), password: 'another fine phrase 1' };
    const byMail = await post('password-reset/confirm', reset, elsewhere);
    const proof = { challenge: byMail.body.error.challenge.token, code: totpCodeOf(factor, 0, now) };
    expect((await post('second-factor', proof, someAddress())).status).to.equal(200);
  });

  it('do not make the network of a stranger known', async () => {
    const ip = someAddress();
    for (let n = 0; n < 5; n += 1) await finish(wrongTotpCodeOf(factor, now), ip);
    expect(outcome(await finish(totpCodeOf(factor, 0, now)))).to.equal('429 rate_limited 900');
  });

  it('do not count as wrong passwords, and pending sign-ins neither', async () => {
    for (let n = 0; n < 12; n += 1) await challenge(someAddress());
    await attack(6);
    expect((await post('sign-in', { email: person.email, password: 'wrong' }, someAddress())).status).to.equal(401);
    expect(await challenge(someAddress())).to.match(/^[\w-]{43}$/);
  });

  it('have the same limit for an unknown challenge, so the limit reveals nothing', async () => {
    const known = await challenge(someAddress());
    const tryOf = (token: string) =>
      post('second-factor', { challenge: token, code: wrongTotpCodeOf(factor, now) }, someAddress());
    for (let n = 0; n < 7; n += 1) {
      const [one, other] = [await tryOf(known), await tryOf('never-issued'.padEnd(43, 'x') + person.id)];
      expect(visible(one)).to.equal(visible(other));
    }
  });
});
