import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { mailgunNotice, resendNotice, type PostedNotice } from '../../dev/clients/mail-providers.ts';
import { removeExpiredReceipts } from '../../domain/mail/notices/receipts.ts';
import { Mail } from '../../entities/mail/mail.ts';
import { MailNoticeReceipt } from '../../entities/mail/mail-notice-receipt.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { providerNoticeOf, noticeToken, providerKeys, providerSettings } from '../toolkit/builders/provider-keys.ts';
import { callAt, clock, expectError } from '../toolkit/drive/api.ts';
import { sendCampaign, type SentMail } from '../toolkit/drive/campaigns.ts';
import { serveApp, type ServedApp } from '../toolkit/stack/app.ts';
import { rowCounts, testDeps } from '../toolkit/stack/database.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const signing = ['mailgun', 'sendgrid', 'resend'] as const;
/** The lifetime of a signature of each provider. */
const validMs = { mailgun: 12 * hour, sendgrid: 25 * hour, resend: 5 * minute };

describe('signatures of notices of mail providers (BNC-3)', () => {
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

  const send = async () => only((await sendCampaign({ count: 1, now: sentAt })).mails);
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
  const only = ([mail]: readonly SentMail[]): SentMail => {
    if (!mail) throw new Error('No mail was sent');
    return mail;
  };

  for (const provider of signing) {
    it(`of ${provider} are refused with one answer if anything signed is changed, and leave nothing behind`, async () => {
      const { mailId } = await send();
      const good = providerNoticeOf(provider, { kind: 'bounced', at: later(1), mailId });
      const other = providerNoticeOf(
        provider,
        { kind: 'bounced', at: later(1), mailId },
        new Date(Date.now() - 2 * second),
      );
      const before = await rowCounts();
      const withHeaders = (change: (value: string) => string): PostedNotice => ({
        raw: good.raw,
        headers: Object.fromEntries(
          Object.entries(good.headers).map(([name, value]) => [name, name === 'content-type' ? value : change(value)]),
        ),
      });
      const changed: PostedNotice[] =
        provider === 'mailgun'
          ? [
              { ...good, raw: good.raw.replace(/"signature":"./, '"signature":"x') },
              { ...good, raw: good.raw.replace(/"token":"./, '"token":"x') },
              { ...good, raw: good.raw.replace(/"timestamp":"\d/, '"timestamp":"2') },
              { ...good, raw: good.raw.replace(/"signature":\{.*?\}/, '"signature":{}') },
              { ...good, raw: `[${good.raw},${good.raw}]` },
              { ...good, raw: '{}' },
            ]
          : [
              { ...good, raw: `${good.raw} ` },
              { ...good, headers: { 'content-type': 'application/json' } },
              { ...good, headers: other.headers, raw: good.raw.replace(mailId, newId()) },
              withHeaders((value) => `${value}x`),
              withHeaders(() => ''),
            ];
      const messages = new Set<string>();
      await eachCase(changed, async (notice) => {
        const answer = await post(provider, notice);
        expectError(answer, 'signature_invalid');
        messages.add(answer.body.error.message);
      });
      expect(messages.size).to.equal(1);
      expect(await rowCounts()).to.deep.equal(before);
      expect(await timesOf(mailId)).to.deep.equal(noTimes);
    });

    it(`of ${provider} are refused if they were signed too long ago or in the future`, async () => {
      const { mailId } = await send();
      const at = (ms: number) =>
        providerNoticeOf(provider, { kind: 'bounced', at: later(1), mailId }, new Date(clock.now().getTime() + ms));
      expectError(await post(provider, at(-validMs[provider] - minute)), 'signature_invalid');
      expectError(await post(provider, at(6 * minute)), 'signature_invalid');
      expect(await timesOf(mailId)).to.deep.equal(noTimes);
      expect((await post(provider, at(minute - validMs[provider]))).status).to.equal(200);
      expect((await timesOf(mailId)).bounced).to.equal(later(1).getTime());
    });

    it(`of ${provider} are not recorded a second time, even if the rows of the first time are gone`, async () => {
      const { mailId } = await send();
      const notice = providerNoticeOf(provider, { kind: 'bounced', at: later(1), mailId });
      await post(provider, notice);
      await deps.db.run(sql`UPDATE mails SET bounced_at = NULL WHERE id = ${mailId}`);
      expect((await post(provider, notice)).status).to.equal(200);
      expect(await timesOf(mailId)).to.deep.equal(noTimes);
    });
  }

  it('of Mailgun are refused if a token is used again with another body', async () => {
    const { mailId } = await send();
    const signed = { signedAt: new Date(), token: newId() };
    const opened = mailgunNotice({ kind: 'delivered', at: later(1), mailId: newId() }, providerKeys.mailgun, signed);
    expect((await post('mailgun', opened)).status).to.equal(200);
    const before = await rowCounts();
    const forged = mailgunNotice({ kind: 'bounced', at: later(1), mailId }, providerKeys.mailgun, signed);
    expectError(await post('mailgun', forged), 'signature_invalid');
    expect(await rowCounts()).to.deep.equal(before);
    expect(await timesOf(mailId)).to.deep.equal(noTimes);
  });

  it('of Resend may be signed again for a repetition with the same id, which changes nothing', async () => {
    const { mailId } = await send();
    const mail = { kind: 'bounced', at: later(1), mailId } as const;
    const id = `msg_${newId()}`;
    await post('resend', resendNotice(mail, providerKeys.resend, { id, signedAt: new Date(Date.now() - 10 * second) }));
    await deps.db.run(sql`UPDATE mails SET bounced_at = NULL WHERE id = ${mailId}`);
    expect((await post('resend', resendNotice(mail, providerKeys.resend, { id }))).status).to.equal(200);
    expect(await timesOf(mailId)).to.deep.equal(noTimes);
  });

  it('of Resend are signed as the library of Standard Webhooks signs them', async () => {
    const { mailId } = await send();
    const { raw } = resendNotice({ kind: 'bounced', at: later(1), mailId }, providerKeys.resend);
    const [id, at] = [`msg_${newId()}`, new Date()];
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / second)),
      'webhook-signature': `v1,${'A'.repeat(43)}= ${new Webhook(providerKeys.resend).sign(id, at, raw)}`,
    };
    expect((await post('resend', { raw, headers })).status).to.equal(200);
    expect((await timesOf(mailId)).bounced).to.equal(later(1).getTime());
  });

  it('are forgotten after their expiry, and not before', async () => {
    const { mailId } = await send();
    await post('sendgrid', providerNoticeOf('sendgrid', { kind: 'bounced', at: later(1), mailId }));
    const receipts = () => deps.db.manager.countBy(MailNoticeReceipt, {});
    const stored = await receipts();
    await removeExpiredReceipts(deps.db, new Date(clock.now().getTime() + 5 * minute));
    expect(await receipts()).to.equal(stored);
    const { rows, more } = await removeExpiredReceipts(deps.db, new Date(clock.now().getTime() + 48 * hour));
    expect([rows.noticeReceipts, more]).to.deep.equal([stored, false]);
    expect(await receipts()).to.equal(0);
  });
});
