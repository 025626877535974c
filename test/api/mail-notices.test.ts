import { expect } from 'chai';
import { readStatistics, listDeliveries } from '../../domain/campaigns/recipients.ts';
import { recordEvents } from '../../domain/mail/notices/record-events.ts';
import { createSnsGuard } from '../../domain/mail/notices/sns.ts';
import { addSuppression, listSuppressions } from '../../domain/mail/suppressions/suppressions.ts';
import { removeStudent } from '../../domain/students/students.ts';
import { Mail } from '../../entities/mail/mail.ts';
import { newId } from '../../platform/core/ids.ts';
import type { HandOver } from '../../platform/infra/smtp/smtp-hand-over.ts';
import type { TestClub } from '../toolkit/builders/clubs.ts';
import { call, callAt, clock, expectError, type Call } from '../toolkit/drive/api.ts';
import { sendCampaign, type SentMail } from '../toolkit/drive/campaigns.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../toolkit/drive/races.ts';
import { databaseOf } from '../toolkit/fakes/databases.ts';
import { fakeSns, sesReport, snsTopic, type FakeSns } from '../toolkit/fakes/sns.ts';
import { serveApp, type ServedApp } from '../toolkit/stack/app.ts';
import { rowCounts, testDeps } from '../toolkit/stack/database.ts';

const token = 'a-token-of-the-operator';
const second = 1_000;

describe('notices of mail providers (CAMP-15)', () => {
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let sns: FakeSns;
  let api: ServedApp;
  let club: TestClub;
  let campaignId: string;
  let mails: SentMail[];
  let sentAt: Date;
  before(async () => {
    deps = await testDeps();
    sns = await fakeSns();
    api = await serveApp({
      env: { MAIL_NOTICE_TOKEN: token },
      deps: (usual) => {
        const mailNotices = { ...usual.deps.mailNotices, sns: createSnsGuard(snsTopic, sns.getText) };
        return { ...usual, deps: { ...usual.deps, mailNotices } };
      },
    });
  });
  after(() => api.close());

  const send = async (count: number, reply?: (place: number) => HandOver) => {
    sentAt = new Date(clock.now().getTime() - 3_600 * second);
    ({ club, campaignId, mails } = await sendCampaign({ count, now: sentAt }, reply));
  };
  const later = (seconds: number) => new Date(sentAt.getTime() + seconds * second);
  const post = (platform: string, options: Call, pathToken = token) =>
    callAt(api.base, 'POST', `/webhooks/${platform}/${pathToken}`, options);
  const tell = (...events: object[]) => post('mail', { body: { events } });
  const event = (kind: string, { mailId }: { mailId: string }, at: Date) => ({
    kind,
    at: at.toISOString(),
    mail_id: mailId,
  });
  const postSes = (message: Parameters<FakeSns['post']>[0]) =>
    post('ses', { raw: sns.post(message), headers: { 'content-type': 'text/plain; charset=UTF-8' } });
  const row = async (place = 0) => {
    const { rows } = await listDeliveries(deps.db, club.id, campaignId, { page: 1, page_size: 100 });
    const found = rows[place];
    if (!found) throw new Error('Recipient does not exist');
    const { id: _, student_id: __, student_name: ___, student_email: ____, ...rest } = found;
    return rest;
  };
  const statistics = async () => {
    const counts = await readStatistics(deps.db, club.id, campaignId);
    return {
      sent: counts.sent,
      failed: counts.failed,
      delivered: counts.delivered,
      bounced: counts.bounced,
      complained: counts.complained,
    };
  };
  const suppressions = async () => {
    const { rows } = await listSuppressions(deps, club.id, { page: 1, page_size: 100 });
    return rows.map(({ reason }) => String(reason)).toSorted();
  };
  const mailOf = (place: number): SentMail => {
    const mail = mails[place];
    if (!mail) throw new Error('Mail does not exist');
    return mail;
  };

  it('record each event once, and name the mail by its id, its Message-ID or the id in the SMTP reply', async () => {
    await send(3, (place) => ({ kind: 'accepted', reply: `250 2.0.0 Ok: queued as Q${campaign()}${place}` }));
    const answer = await tell(
      event('delivered', mailOf(0), later(1)),
      { kind: 'delivered', at: later(2).toISOString(), message_id: mailOf(1).message.messageId },
      { kind: 'bounced', at: later(3).toISOString(), provider_id: `Q${campaign()}2` },
      event('delivered', { mailId: newId() }, later(1)),
    );
    expect([answer.status, answer.body]).to.deep.equal([202, { data: { accepted: true } }]);
    const sentState = { status: 'sent', sent_at: sentAt.toISOString() };
    expect(await row(0)).to.deep.equal({ ...sentState, delivered_at: later(1).toISOString() });
    expect(await row(1)).to.deep.equal({ ...sentState, delivered_at: later(2).toISOString() });
    expect(await row(2)).to.deep.equal({ ...sentState, bounced_at: later(3).toISOString() });
    expect(await statistics()).to.deep.equal({ sent: 3, failed: 0, delivered: 2, bounced: 1, complained: 0 });
    expect(await suppressions()).to.deep.equal(['bounce']);
  });
  /** The id differs from the ids of all other tests, because the campaigns of this file share a table. */
  const campaign = () => String(sentAt.getTime());

  it('belong to the newer mail if a mail server gave two mails the same id', async () => {
    const reply = `250 2.0.0 Ok: queued as R${Date.now()}`;
    await send(2, () => ({ kind: 'accepted', reply }));
    await deps.db.manager.update(Mail, mailOf(1).mailId, { sentAt: later(-60) });
    await tell({ kind: 'delivered', at: later(1).toISOString(), provider_id: reply.split(' ').at(-1) });
    expect(await row(0)).to.have.property('delivered_at');
    expect(await row(1)).not.to.have.property('delivered_at');
  });

  it('are accepted with 1,000 events in one request, and repeated events are recorded once', async () => {
    await send(1);
    const events = Array.from({ length: 1_000 }, (_, place) => event('delivered', mailOf(0), later(1_000 - place)));
    await tell(...events);
    await tell(...events.slice(0, 10), event('complained', mailOf(0), later(5)));
    expect(await row()).to.include({ delivered_at: later(1).toISOString(), complained_at: later(5).toISOString() });
    expect(await statistics()).to.deep.equal({ sent: 1, failed: 0, delivered: 1, bounced: 0, complained: 1 });
    expectError(await tell(...events, event('delivered', mailOf(0), later(1))), 'invalid_request');
    expectError(await tell({ kind: 'delivered', at: later(1).toISOString() }), 'invalid_request');
  });

  it('of SES name their mail by a tag, a header or the id in the SMTP reply', async () => {
    const ofSes = (place: number) => `0102018f5e8a-${campaign()}-${place}-000000`;
    await send(4, (place) => ({ kind: 'accepted', reply: `250 Ok ${ofSes(place)}` }));
    const reports = [
      sesReport('Delivery', later(1), { mailId: mailOf(0).mailId }),
      sesReport('Bounce', later(2), { mailId: mailOf(1).mailId, by: 'header' }),
      sesReport('Complaint', later(3), { providerId: ofSes(2) }),
      sesReport('Bounce', later(4), { mailId: mailOf(3).mailId, bounceType: 'Transient' }),
      sesReport('Open', later(5), { mailId: mailOf(3).mailId }),
    ];
    for (const Message of reports) expect((await postSes({ Message })).status).to.equal(202);
    expect(await statistics()).to.deep.equal({ sent: 4, failed: 0, delivered: 1, bounced: 1, complained: 1 });
    expect(await row(3)).to.deep.equal({ status: 'sent', sent_at: sentAt.toISOString() });
    expect(await suppressions()).to.deep.equal(['bounce', 'complaint']);
  });

  it('confirm a subscription to the configured SES topic, but do nothing when a subscription ends', async () => {
    sns.asked.length = 0;
    expect((await postSes({ Type: 'SubscriptionConfirmation' })).status).to.equal(202);
    expect(sns.asked.filter((url) => url.includes('Action=ConfirmSubscription'))).to.have.length(1);
    expect((await postSes({ Type: 'UnsubscribeConfirmation' })).status).to.equal(202);
  });

  it('are refused with 400 if an SNS message is forged or of a different topic, and confirm nothing', async () => {
    await send(1);
    const before = await rowCounts();
    sns.asked.length = 0;
    const Message = sesReport('Bounce', later(1), { mailId: mailOf(0).mailId });
    const good = JSON.parse(sns.post({ Message: '{}' })) as object;
    const plain = { headers: { 'content-type': 'text/plain' } };
    expectError(await post('ses', { raw: JSON.stringify({ ...good, Message }), ...plain }), 'signature_invalid');
    expectError(await postSes({ Message, TopicArn: `${snsTopic}s` }), 'signature_invalid');
    expectError(await postSes({ Message, SigningCertURL: 'https://evil.example/a.pem' }), 'signature_invalid');
    const confirmation = { Type: 'SubscriptionConfirmation', TopicArn: `${snsTopic}s` } as const;
    expectError(await postSes(confirmation), 'signature_invalid');
    expectError(await post('ses', { raw: 'x', ...plain }), 'malformed_request');
    expectError(await post('ses', { raw: sns.post({ Message }) }), 'unsupported_media_type');
    expect(sns.asked.filter((url) => url !== sns.certificateUrl)).to.deep.equal([]);
    expect(await rowCounts()).to.deep.equal(before);
    expect(await row()).to.deep.equal({ status: 'sent', sent_at: sentAt.toISOString() });
  });

  it('are refused with 501 if no token or topic is configured, and with 404 if the token is wrong', async () => {
    const body = { events: [event('delivered', { mailId: newId() }, new Date())] };
    const ses = { raw: sns.post({}), headers: { 'content-type': 'text/plain' } };
    expectError(await call('POST', `/webhooks/mail/${token}`, { body }), 'not_configured');
    expectError(await call('POST', `/webhooks/ses/${token}`, ses), 'not_configured');
    expectError(await post('mail', { body }, `${token}x`), 'not_found');
    expectError(await post('ses', ses, 'other'), 'not_found');
  });

  it('are accepted more than 60 times a minute from one IP address', async () => {
    const ip = '10.200.1.1';
    const answers = await Promise.all(Array.from({ length: 70 }, () => post('mail', { body: { events: [] }, ip })));
    expect(answers.map(({ status }) => status).filter((status) => status === 429)).to.deep.equal([]);
  });

  it('prove that a mail with an unknown outcome was sent, so the mail is not sent again (CAMP-14)', async () => {
    await send(3, (place) =>
      place === 2 ? { kind: 'refused', permanent: false, reply: '451 later' } : { kind: 'unknown' },
    );
    expect(await row(0)).to.deep.equal({ status: 'failed', last_error: 'outcome_unknown' });
    await tell(
      event('delivered', mailOf(0), later(7)),
      event('bounced', mailOf(1), later(-3)),
      event('soft_bounced', mailOf(2), later(9)),
    );
    const at = (seconds: number) => later(seconds).toISOString();
    expect(await row(0)).to.deep.equal({ status: 'sent', sent_at: at(7), delivered_at: at(7) });
    expect(await row(1)).to.deep.equal({ status: 'sent', sent_at: at(-3), bounced_at: at(-3) });
    expect(await row(2)).to.deep.equal({ status: 'sent', sent_at: at(9) });
    expect(await statistics()).to.deep.equal({ sent: 3, failed: 0, delivered: 1, bounced: 1, complained: 0 });
  });

  it('record an event for a mail that is being sent, but do not change the mail’s status (CAMP-14)', async () => {
    await send(1);
    await deps.db.manager.update(Mail, { campaignId }, { status: 'sending', sentAt: null });
    await tell(event('delivered', mailOf(0), later(-1)));
    expect(await row()).to.deep.equal({ status: 'sending', delivered_at: later(-1).toISOString() });
  });

  it('do not record an event older than 90 days, and replace a future time by the current time', async () => {
    await send(1);
    await tell(event('delivered', mailOf(0), later(-90 * 86_400 - 60)));
    expect(await row()).not.to.have.property('delivered_at');
    await tell(event('delivered', mailOf(0), later(7_200)));
    expect(new Date((await row()).delivered_at ?? 0).getTime()).to.be.within(later(3_600).getTime(), Date.now());
  });

  it('suppress the address after five soft bounces without a delivery between the bounces', async () => {
    await send(1);
    const soft = (...seconds: number[]) => tell(...seconds.map((at) => event('soft_bounced', mailOf(0), later(at))));
    await soft(-50, -40, -30);
    await soft(-30, -40);
    await tell(event('delivered', mailOf(0), later(-35)));
    await soft(-20, -15, -10);
    expect(await suppressions()).to.deep.equal([]);
    await soft(-5);
    expect(await suppressions()).to.deep.equal(['bounce']);
  });

  it('change the reason of a suppression only to a graver one: manual, then bounce, then complaint', async () => {
    await send(2);
    for (const { email } of mails) await addSuppression(deps, club.id, email, sentAt);
    await tell(
      event('complained', mailOf(0), later(1)),
      event('bounced', mailOf(0), later(2)),
      event('bounced', mailOf(1), later(1)),
    );
    expect(await suppressions()).to.deep.equal(['bounce', 'complaint']);
    await tell(event('bounced', mailOf(0), later(0)));
    await tell(event('complained', mailOf(1), later(9)));
    expect(await suppressions()).to.deep.equal(['complaint', 'complaint']);
  });

  it('do not suppress an address again if an old event arrives after the suppression was lifted', async () => {
    await send(1);
    await tell(event('bounced', mailOf(0), later(1)));
    await deps.db.source.query(`DELETE FROM mail_suppressions WHERE club_id = $1`, [club.id]);
    await tell(event('bounced', mailOf(0), later(1)));
    expect(await suppressions()).to.deep.equal([]);
  });

  it('record the time of an event for a removed student, but store no address', async () => {
    await send(1);
    await tell(event('soft_bounced', mailOf(0), later(0)));
    await removeStudent(deps, club.id, mailOf(0).studentId, clock.now());
    expect(
      await deps.db.source.query(`SELECT 1 FROM mail_soft_bounces WHERE mail_id = $1`, [mailOf(0).mailId]),
    ).to.deep.equal([]);
    await tell(event('bounced', mailOf(0), later(1)));
    expect(await suppressions()).to.deep.equal([]);
    expect(await row()).to.include({ bounced_at: later(1).toISOString() });
  });

  it('count an event once, even if it arrives again before the first request commits', async () => {
    await send(1);
    const events = [{ kind: 'delivered', at: later(1), mailId: mailOf(0).mailId, providerId: undefined } as const];
    let repetition: Promise<unknown> = Promise.resolve();
    await withOpenTransaction(
      (tx) => recordEvents(databaseOf(tx), events, later(60)),
      async () => {
        repetition = recordEvents(deps.db, events, later(60));
        await untilWaitingForLocks(1);
      },
    );
    await repetition;
    expect(await statistics()).to.include({ delivered: 1 });
  });

  it('count each event once, even if the same request arrives several times simultaneously', async () => {
    await send(5);
    const events = mails.flatMap((mail) => [event('delivered', mail, later(1)), event('bounced', mail, later(2))]);
    await Promise.all([tell(...events), tell(...events.toReversed()), tell(...events), tell(...events.toReversed())]);
    expect(await statistics()).to.deep.equal({ sent: 5, failed: 0, delivered: 5, bounced: 5, complained: 0 });
    expect(await suppressions()).to.deep.equal(Array.from({ length: 5 }, () => 'bounce'));
  });
});
