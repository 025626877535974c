import { expect } from 'chai';
import { listSuppressions } from '../../domain/mail/suppressions/suppressions.ts';
import { newId } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { deliveryReport, spamReport } from '../toolkit/builders/mail-reports.ts';
import { noticeToken } from '../toolkit/builders/provider-keys.ts';
import { call, callAt, clock, expectError } from '../toolkit/drive/api.ts';
import { sendCampaign } from '../toolkit/drive/campaigns.ts';
import { serveApp, type ServedApp } from '../toolkit/stack/app.ts';
import { rowCounts, testDeps } from '../toolkit/stack/database.ts';

const headers = { 'content-type': 'message/rfc822' };

describe('reports that a mail server posts (BNC-6)', function () {
  this.timeout(60_000);
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let api: ServedApp;
  before(async () => {
    deps = await testDeps();
    api = await serveApp({ env: { MAIL_NOTICE_TOKEN: noticeToken } });
  });
  after(() => api.close());

  const post = (raw: string, token = noticeToken) =>
    callAt(api.base, 'POST', `/webhooks/mail-reports/${token}`, { raw, headers });
  const sentAt = () => new Date(Math.floor(clock.now().getTime() / 1_000) * 1_000 - 3_600_000);
  const reasons = async (clubId: string) => {
    const { rows } = await listSuppressions(deps, clubId, { page: 1, page_size: 100 });
    return rows.map(({ reason }) => String(reason)).toSorted();
  };

  it('record a bounce and a complaint, each for its own club, and change nothing when they are repeated', async () => {
    const [one, other] = [
      await sendCampaign({ count: 1, now: sentAt() }),
      await sendCampaign({ count: 1, now: sentAt() }),
    ];
    const header = ({ mails: [mail] }: typeof one) => [`X-Club-Mail-Id: ${mail?.mailId}`];
    const bounce = deliveryReport({ date: clock.now(), returned: header(one) });
    const complaint = spamReport({ date: clock.now(), returned: header(other) });
    for (const report of [bounce, complaint, bounce, complaint])
      expect((await post(report)).body).to.deep.equal({ data: { accepted: true } });
    expect([await reasons(one.club.id), await reasons(other.club.id)]).to.deep.equal([['bounce'], ['complaint']]);
    const before = await rowCounts();
    expect((await post(bounce)).status).to.equal(200);
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('count soft bounces of the same report once', async () => {
    const { club, mails } = await sendCampaign({ count: 1, now: sentAt() });
    const mailId = mails[0]?.mailId ?? '';
    const returned = [`X-Club-Mail-Id: ${mailId}`];
    const report = deliveryReport({ date: clock.now(), status: '4.2.2', returned });
    for (let times = 0; times < 6; times++) await post(report);
    const stored = await deps.db.rows(sql`SELECT at FROM mail_soft_bounces WHERE mail_id = ${mailId}`);
    expect(stored).to.have.length(1);
    expect(await reasons(club.id)).to.deep.equal([]);
  });

  it('are refused with a clear error, and leave nothing behind, if they are no reports', async () => {
    const before = await rowCounts();
    await eachCase(
      ['Subject: Hi\r\n\r\nHi', '\0', '{}', deliveryReport().replace('multipart/report', 'multipart/mixed')],
      async (raw) => expectError(await post(raw), 'malformed_request'),
    );
    expectError(await post(''), 'malformed_request');
    expectError(await post('x'.repeat(262_145)), 'body_too_large');
    const plain = { raw: deliveryReport(), headers: { 'content-type': 'text/plain' } };
    expectError(
      await callAt(api.base, 'POST', `/webhooks/mail-reports/${noticeToken}`, plain),
      'unsupported_media_type',
    );
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('get 404 with a wrong token before they are read, and 501 without a configured token', async () => {
    expectError(await post('x'.repeat(500_000), 'wrong'), 'not_found');
    expectError(
      await call('POST', `/webhooks/mail-reports/${noticeToken}`, { raw: deliveryReport(), headers }),
      'not_configured',
    );
  });

  it('about mails of other environments are accepted, and change nothing', async () => {
    const before = await rowCounts();
    expect((await post(deliveryReport({ returned: [`X-Club-Mail-Id: ${newId()}`] }))).status).to.equal(200);
    expect((await post(deliveryReport())).status).to.equal(200);
    expect(await rowCounts()).to.deep.equal(before);
  });
});
