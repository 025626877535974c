/** Tests the limits on wrong codes of registration links (LIM-27), and old links whose codes are shorter than the current minimum. */
import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { startApi, type RunningApi } from '../../api/server.ts';
import { newId } from '../../platform/core/ids.ts';
import { buildAccessDelivery } from '../toolkit/builders/access.ts';
import { buildClub, buildStudent, password, type TestClub } from '../toolkit/builders/clubs.ts';
import { callAt, counterDeadlineMs, someAddress, testConfig, type Answer } from '../toolkit/drive/api.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

describe('wrong codes of registration links', function () {
  this.timeout(60_000);
  const hourMs = 3_600_000;
  const start = Date.UTC(2025, 0, 1 + randomInt(300), 12);
  let now = start;
  let api: RunningApi;
  let club: TestClub;
  let code: string;
  before(async () => {
    api = await startApi(await testConfig(), { clock: () => new Date(now), counterDeadlineMs });
  });
  after(() => api.stop());
  beforeEach(async () => {
    now = start;
    club = await buildClub();
    const delivery = await buildAccessDelivery(club.id);
    const created = await callsOf(club)('POST', '/registration-links', {
      name: 'Open day',
      delivery_ids: [delivery.id],
    });
    ({ code } = created.body.data);
  });

  const post = (path: string, options: object) => callAt(`http://127.0.0.1:${api.port}`, 'POST', path, options);
  const claim = (token: string, ofCode: string, ip = someAddress()) =>
    post(`/v1/clubs/${club.id}/classroom/registration-links/${ofCode}/claim`, { token, ip });
  const signUp = (registrationCode: string, ip = someAddress()) => {
    const body = { name: 'Ada', email: `${newId()}@example.com`, password, registration_code: registrationCode };
    return post(`/v1/clubs/${club.id}/classroom/sign-up`, { body, ip });
  };
  const statuses = async (times: number, send: (n: number) => Promise<Answer>) => {
    const found: number[] = [];
    for (let n = 0; n < times; n += 1) found.push((await send(n)).status);
    return found;
  };
  const of = (count: number, status: number) => Array<number>(count).fill(status);
  const guess = (n: number) => `guess-${String(n).padStart(4, '0')}`;

  it('are limited to ten an hour per student, and then valid codes are refused too', async () => {
    const [guesser, other] = [await buildStudent(club.id), await buildStudent(club.id)];
    expect(await statuses(12, (n) => claim(guesser.token, guess(n)))).to.deep.equal([...of(10, 404), ...of(2, 429)]);
    const refused = await claim(guesser.token, code);
    expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([429, '3600']);
    expect((await claim(other.token, code)).status).to.equal(200);
    now = start + hourMs;
    expect((await claim(guesser.token, code)).status).to.equal(200);
  });

  it('are limited to sixty an hour per IP address for all students and sign-ups', async () => {
    const ip = someAddress();
    for (let count = 0; count < 5; count += 1) {
      const { token } = await buildStudent(club.id);
      expect(await statuses(10, (n) => claim(token, guess(n), ip))).to.deep.equal(of(10, 404));
    }
    expect(await statuses(10, (n) => signUp(guess(n), ip))).to.deep.equal(of(10, 404));
    now = start + 60_000; // a new minute of the credential limit begins
    expect((await signUp(code, ip)).status).to.equal(429);
    expect((await signUp(code)).status).to.equal(202);
  });

  it('do not include valid codes: one student may send them forty times', async () => {
    const { token } = await buildStudent(club.id);
    expect(await statuses(40, () => claim(token, code))).to.deep.equal(of(40, 200));
  });

  it('are limited even if the requests are simultaneous', async () => {
    const { token } = await buildStudent(club.id);
    const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => claim(token, guess(n))));
    expect(answers.filter(({ status }) => status === 404)).to.have.length(10);
  });

  it('do not include a short but valid code of an old link', async () => {
    const source = await testDatabase();
    await source.query(`UPDATE registration_links SET code = 'Old', folded_code = 'old' WHERE club_id = $1`, [club.id]);
    expect((await claim((await buildStudent(club.id)).token, 'OLD')).status).to.equal(200);
    expect((await signUp('old')).status).to.equal(202);
  });
});
