import { expect } from 'chai';
import * as fc from 'fast-check';
import type { ReportedMail } from '../../../../dev/clients/mail-providers.ts';
import { noticeReaders } from '../../../../domain/mail/notices/providers/readers.ts';
import { mailProviders } from '../../../../domain/mail/notices/providers/words.policy.ts';
import { recordEvents, recordNotice } from '../../../../domain/mail/notices/record-events.ts';
import { Mail } from '../../../../entities/mail/mail.ts';
import { MailSuppression } from '../../../../entities/mail/mail-suppression.ts';
import { Secret } from '../../../../platform/core/secret.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { providerNoticeOf, providerKeys, providerSettings } from '../../../toolkit/builders/provider-keys.ts';
import { sendCampaign, type SentMail } from '../../../toolkit/drive/campaigns.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

const now = new Date(Math.floor(Date.now() / 1_000) * 1_000);
const sentAt = new Date(now.getTime() - 3_600_000);

/** Each event is a notice of its own. The list of indexes is the order of arrival, with repetitions. */
const arrivals = fc
  .array(
    fc.record({
      kind: fc.oneof(
        { weight: 4, arbitrary: fc.constant('soft_bounced' as const) },
        { weight: 3, arbitrary: fc.constantFrom('delivered' as const, 'bounced' as const, 'complained' as const) },
      ),
      minute: fc.nat(20),
      place: fc.nat(1),
    }),
    { minLength: 1, maxLength: 9 },
  )
  .chain((events) =>
    fc.record({
      events: fc.constant(events),
      order: fc.shuffledSubarray([...events.keys(), ...events.keys()], {
        minLength: events.length * 2,
        maxLength: events.length * 2,
      }),
    }),
  );

describe('the events of a provider, in any order and repeated (BNC-8)', function () {
  this.timeout(120_000);
  const readers = noticeReaders({
    providers: mailProviders,
    mailgunSigningKey: new Secret(providerKeys.mailgun),
    sendgridVerificationKey: providerSettings.SENDGRID_VERIFICATION_KEY,
    resendWebhookSecret: new Secret(providerKeys.resend),
  });
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let clubId: string;
  let mails: SentMail[];
  before(async () => {
    deps = await testDeps();
    ({
      club: { id: clubId },
      mails,
    } = await sendCampaign({ count: 2, now: sentAt }));
  });

  async function stateAfter(post: () => Promise<void>) {
    await deps.db.run(sql`DELETE FROM mail_suppressions WHERE club_id = ${clubId}`);
    await deps.db.run(sql`DELETE FROM mail_soft_bounces`);
    await deps.db.run(sql`DELETE FROM mail_notice_receipts`);
    await deps.db
      .run(sql`UPDATE mails SET delivered_at = NULL, bounced_at = NULL, soft_bounced_at = NULL, complained_at = NULL,
      sent_at = ${sentAt} WHERE club_id = ${clubId}`);
    await post();
    const rows = await deps.db.manager.find(Mail, { where: { clubId }, order: { seq: 'ASC' } });
    const suppressions = await deps.db.manager.find(MailSuppression, {
      where: { clubId },
      order: { addressKey: 'ASC' },
    });
    return {
      mails: rows.map(({ status, sentAt: handedOverAt, deliveredAt, bouncedAt, softBouncedAt, complainedAt }) =>
        [status, handedOverAt, deliveredAt, bouncedAt, softBouncedAt, complainedAt].map(String),
      ),
      suppressions: suppressions.map(({ addressKey, reason, fromSoftBounces }) =>
        [addressKey.toString('hex'), reason, fromSoftBounces].join(' '),
      ),
    };
  }

  for (const provider of mailProviders)
    it(`end in one state: ${provider}`, async () => {
      await fc.assert(
        fc.asyncProperty(arrivals, async ({ events, order }) => {
          const notices = events.map(({ kind, minute, place }) => {
            const mail: ReportedMail = {
              kind,
              at: new Date(sentAt.getTime() + minute * 60_000),
              mailId: mails[place]?.mailId,
            };
            return providerNoticeOf(provider, mail, now);
          });
          const post = async (indexes: readonly number[]) => {
            for (const index of indexes) {
              const { raw, headers } = notices[index] ?? { raw: '', headers: {} };
              const notice = { raw: Buffer.from(raw), header: (name: string) => headers[name] ?? '', now };
              const read = readers[provider]?.(notice);
              if (!read) throw new Error(`${provider} has no reader`);
              const { events: found, receipt } = read;
              if (receipt === undefined) await recordEvents(deps.db, found, now);
              else await recordNotice(deps.db, { events: found, receipt }, now);
            }
          };
          const inOrder = await stateAfter(() => post([...events.keys()]));
          expect(await stateAfter(() => post(order))).to.deep.equal(inOrder);
        }),
        { numRuns: Number(process.env['EVENT_RUNS'] ?? 12) },
      );
    });

  it('count a repeated soft bounce once, even if its time is in the future', async () => {
    const event = {
      kind: 'soft_bounced' as const,
      at: new Date(now.getTime() + 3_600_000),
      mailId: mails[0]?.mailId,
      providerId: undefined,
    };
    const { suppressions } = await stateAfter(async () => {
      for (let second = 0; second < 6; second++)
        await recordEvents(deps.db, [event], new Date(now.getTime() + second * 1_000));
    });
    expect(suppressions).to.deep.equal([]);
  });

  it('lift a suppression by soft bounces when a delivery between them is reported late', async () => {
    const [mail] = mails;
    const event = (kind: ReportedMail['kind'], minute: number) => ({
      kind,
      at: new Date(sentAt.getTime() + minute * 60_000),
      mailId: mail?.mailId,
      providerId: undefined,
    });
    const soft = [1, 2, 3, 5, 6].map((minute) => event('soft_bounced', minute));
    expect((await stateAfter(async () => void (await recordEvents(deps.db, soft, now)))).suppressions).to.have.length(
      1,
    );
    await recordEvents(deps.db, [event('delivered', 4)], now);
    expect(await deps.db.manager.countBy(MailSuppression, { clubId })).to.equal(0);
  });
});
