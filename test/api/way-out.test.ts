import { expect } from 'chai';
import { wayOutToken, type MailKind } from '../../domain/mail/way-out.ts';
import { removeStudent } from '../../domain/students/students.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { buildPlan } from '../toolkit/builders/billing.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { testDeps } from '../toolkit/stack/database.ts';

describe('the way out of a mail (CAMP-5)', () => {
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let club: TestClub;
  let student: TestStudent;
  const token = (studentId: Id = student.id, kind: MailKind = 'campaigns') =>
    wayOutToken(deps.vault, { kind, studentId });
  const at = (act: 'unsubscribe' | 'resubscribe', of = token(), clubId = club.id) =>
    `/v1/clubs/${clubId}/classroom/mail/${act}/${of}`;
  const suppressions = async () => (await callsOf(club)('GET', '/mail/suppressions')).body.data;
  beforeEach(async () => {
    deps = await testDeps();
    club = await buildClub();
    student = await buildStudent(club.id);
  });

  it('200: shows what it leads out of, and changes nothing', async () => {
    const { status, body } = await call('GET', at('unsubscribe'));
    expect(status).to.equal(200);
    expect(body.data).to.deep.include({ kind: 'campaigns', subscribed: true, token: token() });
    expect(await suppressions()).to.deep.equal([]);
  });

  it('200: leaves in one click, by a form or nothing as the body, once for all', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const first = await call('POST', at('unsubscribe'), { raw: 'List-Unsubscribe=One-Click', headers: form });
    expect(first.status).to.equal(200);
    expect(first.body.data.subscribed).to.equal(false);
    const before = await suppressions();
    expect(before.map(({ left, reason }: Record<string, unknown>) => ({ left, reason }))).to.deep.equal([
      { left: ['campaigns'], reason: undefined },
    ]);
    expect((await call('POST', at('unsubscribe'))).body.data.subscribed).to.equal(false);
    expect(await suppressions()).to.deep.equal(before);
  });

  it('200: comes back, each kind of mail for itself', async () => {
    const automations = token(student.id, 'automations');
    await call('POST', at('unsubscribe'));
    await call('POST', at('unsubscribe', automations));
    expect((await call('POST', at('resubscribe'))).body.data.subscribed).to.equal(true);
    expect((await suppressions())[0].left).to.deep.equal(['automations']);
    await call('POST', at('resubscribe', automations));
    expect(await suppressions()).to.deep.equal([]);
  });

  it('200: coming back lifts no suppression by hand, and lifting that does not subscribe again', async () => {
    const send = callsOf(club);
    await call('POST', at('unsubscribe'));
    const { id } = (await send('POST', '/mail/suppressions', { email: student.email })).body.data;
    await call('POST', at('resubscribe'));
    expect((await suppressions())[0]).to.include({ reason: 'manual' });
    await call('POST', at('unsubscribe'));
    expect((await send('DELETE', `/mail/suppressions/${id}`)).status).to.equal(204);
    expect((await suppressions())[0])
      .to.deep.include({ left: ['campaigns'] })
      .and.not.to.have.property('reason');
  });

  it('works without the feature, and after the student was removed', async () => {
    await buildPlan(club.id, 'starter');
    expect((await call('POST', at('unsubscribe'))).status).to.equal(200);
    await removeStudent(deps, club.id, student.id, new Date());
    expect((await call('GET', at('unsubscribe'))).body.data.subscribed).to.equal(false);
    expect((await call('POST', at('resubscribe'))).body.data.subscribed).to.equal(false);
  });

  it('404: a forged token, one of another club, and one of nobody, all alike; writes nothing', async () => {
    const other = await buildStudent((await buildClub()).id);
    const forged = Buffer.from(token(), 'base64url');
    forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1;
    for (const bad of [forged.toString('base64url'), token(other.id), token(newId()), 'x', `${token()}A`]) {
      expectError(await call('POST', at('unsubscribe', bad)), 'not_found');
      expectError(await call('GET', at('unsubscribe', bad)), 'not_found');
    }
    expect(await suppressions()).to.deep.equal([]);
  });

  it('is charged to the student of the token: 600 a minute, whatever address it comes from', async () => {
    const first = await call('POST', at('unsubscribe'));
    for (let calls = 1; calls < 65; calls++) await call('POST', at('unsubscribe'));
    expect(first.status).to.equal(200);
    expect((await call('POST', at('unsubscribe'))).status).to.equal(200);
  });

  it('shows a page to browsers that asks before it acts, and says what was done', async () => {
    const html = { accept: 'text/html' };
    const asks = await call('GET', at('unsubscribe'), { headers: html });
    expect(asks.headers.get('content-security-policy')).to.contain("default-src 'none'");
    expect(asks.text).to.contain(`action="../unsubscribe/${token()}"`).and.to.contain('<form method="post"');
    const done = await call('POST', at('unsubscribe'), { headers: html });
    expect(done.text).to.contain('You are unsubscribed').and.to.contain(`action="../resubscribe/${token()}"`);
    expect((await call('POST', at('resubscribe'), { headers: html })).text).to.contain('You are subscribed again');
    for (const bad of ['x', 'x'.repeat(201)])
      expect((await call('GET', at('unsubscribe', bad), { headers: html })).text).to.contain('This link does not work');
  });
});
