import { expect } from 'chai';
import {
  sendgridNotice,
  postmarkNotice,
  brevoNotice,
  postBounces,
  type PostedNotice,
  type ReportedMail,
} from '../../dev/clients/mail-providers.ts';
import { listSuppressions } from '../../domain/mail/suppressions/suppressions.ts';
import { mailProviders } from '../../domain/mail/notices/providers/words.policy.ts';
import { Mail } from '../../entities/mail/mail.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { providerNoticeOf, noticeToken, providerKeys, providerSettings } from '../toolkit/builders/provider-keys.ts';
import { callAt, clock, expectError } from '../toolkit/drive/api.ts';
import { sendCampaign, type SentMail } from '../toolkit/drive/campaigns.ts';
import { serveApp, type ServedApp } from '../toolkit/stack/app.ts';
import { rowCounts, testDeps } from '../toolkit/stack/database.ts';

const second = 1_000;

describe('notices of mail providers in their own formats (BNC-1, BNC-2, BNC-4)', () => {
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let api: ServedApp;
  before(async () => {
    deps = await testDeps();
    api = await serveApp({ env: providerSettings });
  });
  after(() => api.close());

  /** An hour before the test, at a full second, because some providers report seconds. */
  let sentAt: Date;
  beforeEach(() => {
    sentAt = new Date(Math.floor(clock.now().getTime() / second - 3_600) * second);
  });

  const send = (count: number) => sendCampaign({ count, now: sentAt });
  const later = (seconds: number) => new Date(sentAt.getTime() + seconds * second);
  const post = (provider: string, { raw, headers }: PostedNotice, token = noticeToken) =>
    callAt(api.base, 'POST', `/webhooks/mail/${provider}/${token}`, { raw, headers });
  const timesOf = async (mailId: Id) => {
    const { deliveredAt, bouncedAt, softBouncedAt, complainedAt } = await deps.db.manager.findOneByOrFail(Mail, {
      id: mailId,
    });
    return {
      delivered: deliveredAt?.getTime(),
      bounced: bouncedAt?.getTime(),
      soft_bounced: softBouncedAt?.getTime(),
      complained: complainedAt?.getTime(),
    };
  };
  const noTimes = { delivered: undefined, bounced: undefined, soft_bounced: undefined, complained: undefined };
  const reasons = async (clubId: Id) => {
    const { rows } = await listSuppressions(deps, clubId, { page: 1, page_size: 100 });
    return rows.map(({ reason }) => String(reason)).toSorted();
  };
  const only = ([mail]: readonly SentMail[]): SentMail => {
    if (!mail) throw new Error('No mail was sent');
    return mail;
  };

  for (const provider of mailProviders) {
    it(`record each kind of event of ${provider}, and suppress after a bounce and a complaint`, async () => {
      const { club, mails } = await send(4);
      const kinds = ['delivered', 'bounced', 'soft_bounced', 'complained'] as const;
      for (const [place, kind] of kinds.entries()) {
        const mailId = mails[place]?.mailId ?? '';
        const at = later(place);
        expect((await post(provider, providerNoticeOf(provider, { kind, at, mailId }))).status).to.equal(200);
        expect(await timesOf(mailId)).to.deep.equal({ ...noTimes, [kind]: at.getTime() });
      }
      expect(await reasons(club.id)).to.deep.equal(['bounce', 'complaint']);
    });

    it(`of ${provider} change nothing when they are repeated, and get the same answer`, async () => {
      const { mailId } = only((await send(1)).mails);
      const notice = providerNoticeOf(provider, { kind: 'bounced', at: later(1), mailId });
      const answers = await Promise.all([post(provider, notice), post(provider, notice), post(provider, notice)]);
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200]);
      const before = { times: await timesOf(mailId), rows: await rowCounts() };
      expect((await post(provider, notice)).body).to.deep.equal({ data: { accepted: true } });
      expect({ times: await timesOf(mailId), rows: await rowCounts() }).to.deep.equal(before);
    });

    it(`of ${provider} concern only the club of the named mail, not a foreign mail with the provider's id`, async () => {
      const [first, other] = [await send(1), await send(1)];
      const [mine, theirs] = [only(first.mails), only(other.mails)];
      const providerId = `shared-${newId()}`;
      await deps.db.manager.update(Mail, theirs.mailId, { providerId });
      const messageId = theirs.message.messageId;
      const at = later(1);
      const notice = providerNoticeOf(provider, { kind: 'bounced', at, mailId: mine.mailId, messageId, providerId });
      expect((await post(provider, notice)).status).to.equal(200);
      const foreign = providerNoticeOf(provider, { kind: 'complained', at, mailId: newId(), messageId, providerId });
      expect((await post(provider, foreign)).status).to.equal(200);
      expect(await timesOf(mine.mailId)).to.deep.equal({ ...noTimes, bounced: at.getTime() });
      expect(await timesOf(theirs.mailId)).to.deep.equal(noTimes);
      expect(await reasons(first.club.id)).to.deep.equal(['bounce']);
      expect(await reasons(other.club.id)).to.deep.equal([]);
    });

    it(`of ${provider} with a wrong token get 404 before the body is read, and write nothing`, async () => {
      const { mailId } = only((await send(1)).mails);
      const before = await rowCounts();
      const notice = providerNoticeOf(provider, { kind: 'bounced', at: later(1), mailId });
      expectError(await post(provider, notice, `${noticeToken}x`), 'not_found');
      expectError(await post(provider, { ...notice, raw: '{' }, 'wrong'), 'not_found');
      expect(await rowCounts()).to.deep.equal(before);
      expect(await timesOf(mailId)).to.deep.equal(noTimes);
    });
  }

  for (const provider of ['mailgun', 'sendgrid', 'brevo'] as const)
    it(`of ${provider} find their mail by its Message-ID`, async () => {
      const { mailId, message } = only((await send(1)).mails);
      const { messageId } = message;
      expect(
        (await post(provider, providerNoticeOf(provider, { kind: 'bounced', at: later(1), messageId }))).status,
      ).to.equal(200);
      expect((await timesOf(mailId)).bounced).to.equal(later(1).getTime());
    });

  for (const provider of ['postmark', 'sendgrid', 'resend'] as const)
    it(`of ${provider} find their mail by the id in the reply of the mail server`, async () => {
      const providerId = newId();
      const campaign = await sendCampaign({ count: 1, now: sentAt }, () => ({
        kind: 'accepted',
        reply: `250 2.0.0 Ok: queued as ${providerId}`,
      }));
      const { mailId } = only(campaign.mails);
      expect(
        (await post(provider, providerNoticeOf(provider, { kind: 'bounced', at: later(1), providerId }))).status,
      ).to.equal(200);
      expect((await timesOf(mailId)).bounced).to.equal(later(1).getTime());
    });

  it('of SendGrid and Brevo may have events of two clubs in one request, which stay apart', async () => {
    const [one, other] = [await send(1), await send(1)];
    const [mine, theirs] = [only(one.mails).mailId, only(other.mails).mailId];
    const events: ReportedMail[] = [
      { kind: 'bounced', at: later(1), mailId: mine },
      { kind: 'complained', at: later(2), mailId: theirs },
      { kind: 'delivered', at: later(1), mailId: newId() },
    ];
    expect((await post('sendgrid', sendgridNotice(events, providerKeys.sendgrid))).status).to.equal(200);
    expect(await reasons(one.club.id)).to.deep.equal(['bounce']);
    expect(await reasons(other.club.id)).to.deep.equal(['complaint']);
    const batch = [mine, theirs].map((mailId) => brevoNotice({ kind: 'delivered', at: later(3), mailId }).raw);
    const raw = `[${batch.join(',')}]`;
    expect(
      (await post('brevo', { raw, headers: brevoNotice({ kind: 'delivered', at: later(3) }).headers })).status,
    ).to.equal(200);
    expect([(await timesOf(mine)).delivered, (await timesOf(theirs)).delivered]).to.deep.equal([
      later(3).getTime(),
      later(3).getTime(),
    ]);
  });

  it('get 501 if the provider is not configured, and 404 for an unknown provider', async () => {
    const lone = await serveApp({ env: { ...providerSettings, MAIL_PROVIDERS: 'postmark' } });
    try {
      for (const provider of mailProviders.filter((one) => one !== 'postmark')) {
        const { raw, headers } = providerNoticeOf(provider, { kind: 'bounced', at: later(1), mailId: newId() });
        const answer = await callAt(lone.base, 'POST', `/webhooks/mail/${provider}/${noticeToken}`, { raw, headers });
        expectError(answer, 'not_configured');
      }
    } finally {
      await lone.close();
    }
    const { raw, headers } = postmarkNotice({ kind: 'bounced', at: later(1), mailId: newId() });
    expect((await post('nobody', { raw, headers })).status).to.be.oneOf([404, 422]);
  });

  it('are malformed if the body is no object and no list of objects', async () => {
    const { headers } = postmarkNotice({ kind: 'bounced', at: later(1) });
    await eachCase(
      ['', '{', '"x"', '7', 'null', '[7]', '[[]]', '[null]', `${'['.repeat(40)}${']'.repeat(40)}`],
      async (raw) => expectError(await post('postmark', { raw, headers }), 'malformed_request'),
    );
  });

  it('may have 768 KB with 1,500 events, as SendGrid sends them', async () => {
    const { mailId } = only((await send(1)).mails);
    const events = Array.from({ length: 1_500 }, (_, place) => ({
      kind: 'soft_bounced' as const,
      at: later(-place),
      mailId,
      messageId: `<${'x'.repeat(200)}@relay.example>`,
    }));
    const notice = sendgridNotice(events, providerKeys.sendgrid);
    expect(Buffer.byteLength(notice.raw)).to.be.within(600_000, 1_000_000);
    expect((await post('sendgrid', notice)).status).to.equal(200);
    expect((await timesOf(mailId)).soft_bounced).to.equal(later(-1_499).getTime());
  });

  it('pass over events with impossible ids and times', async () => {
    const { headers } = postmarkNotice({ kind: 'bounced', at: later(1) });
    const texts = ['a\u0000b', '\ud800', 'x'.repeat(100_000), 7, null, {}, [], true];
    for (const [index, MessageID] of texts.entries()) {
      const BouncedAt = texts[texts.length - 1 - index];
      const reports = [
        { RecordType: 'Bounce', Type: 'HardBounce', MessageID, BouncedAt: later(1).toISOString(), Metadata: MessageID },
        { RecordType: 'Bounce', Type: 'HardBounce', MessageID: 'x', BouncedAt, Metadata: { 'mail-id': MessageID } },
        { RecordType: MessageID, Type: '__proto__', MessageID, BouncedAt },
      ];
      expect((await post('postmark', { raw: JSON.stringify(reports), headers })).status).to.equal(200);
    }
  });

  it('can be shown by the tour: a bounce by Postmark, and a signed bounce by Mailgun', async () => {
    const { club, mails } = await send(2);
    const [postmark = '', mailgun = ''] = mails.map(({ mailId }) => mailId);
    const service = { api: api.base, token: noticeToken, signingKey: providerKeys.mailgun };
    await postBounces(service, { postmark, mailgun }, later(1));
    expect(await reasons(club.id)).to.deep.equal(['bounce', 'bounce']);
  });
});
