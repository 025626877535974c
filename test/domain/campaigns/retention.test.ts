import { expect } from 'chai';
import { listDeliveries, readStatistics } from '../../../domain/campaigns/recipients.ts';
import { readCampaign } from '../../../domain/campaigns/records.ts';
import { retainRecipients } from '../../../domain/campaigns/retention.ts';
import { resumeCampaign, retryCampaign } from '../../../domain/campaigns/states.ts';
import { stepCampaign } from '../../../domain/campaigns/step.ts';
import { recordEvents } from '../../../domain/mail/notices/record-events.ts';
import { retainMailEvents } from '../../../domain/mail/retention.ts';
import { followLink, recordOpening } from '../../../domain/mail/tracking/visits.ts';
import { linkToken, openingToken } from '../../../domain/mail/tracking/tokens.ts';
import { Campaign } from '../../../entities/campaigns/campaign.ts';
import { Mail } from '../../../entities/mail/mail.ts';
import { MailClick } from '../../../entities/mail/mail-click.ts';
import { MailLink } from '../../../entities/mail/mail-link.ts';
import { MailSoftBounce } from '../../../entities/mail/mail-soft-bounce.ts';
import type { DomainError } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { rollUpListTallies } from '../../../platform/infra/postgres/lists/counts.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { TestClub } from '../../toolkit/builders/clubs.ts';
import { sendCampaign, sendingDeps, type SentMail } from '../../toolkit/drive/campaigns.ts';
import { testDeps } from '../../toolkit/stack/database.ts';

const start = new Date('2026-03-02T12:00:00Z');
const day = 86_400_000;
const after = (days: number, ms = 0) => new Date(start.getTime() + days * day + ms);
const person = { method: 'GET', header: (name: string) => (name === 'user-agent' ? 'Firefox/145.0' : '') };

describe('the retention of a campaign (CAMP-17)', () => {
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let club: TestClub;
  let campaignId: Id;
  let mail: SentMail;
  beforeEach(async () => {
    deps = await testDeps();
    const campaign = await sendCampaign({ count: 3, now: start }, (place) =>
      place === 2 ? { kind: 'unknown' } : { kind: 'accepted', reply: '250 ok' },
    );
    ({ club, campaignId } = campaign);
    const [first, second] = campaign.mails;
    if (!first || !second) throw new Error('The campaign sent fewer than two mails');
    mail = first;
    const [link] = await deps.db.manager.findBy(MailLink, { causeId: campaignId, position: 0 });
    await followLink(deps, linkToken(deps.vault, { linkId: link?.id ?? '', mailId: first.mailId }), person, after(1));
    await recordOpening(deps, openingToken(deps.vault, first.mailId), person, after(1));
    const of = (kind: 'delivered' | 'soft_bounced', { mailId }: SentMail) => ({
      kind,
      at: after(1),
      mailId,
      providerId: undefined,
    });
    await recordEvents(deps.db, [of('delivered', first), of('soft_bounced', second)], after(1));
  });
  const statistics = () => readStatistics(deps.db, club.id, campaignId);
  const deliveries = async (status?: 'sent') => {
    const { rows, total } = await listDeliveries(deps.db, club.id, campaignId, {
      page: 1,
      page_size: 100,
      ...(status && { status }),
    });
    return [rows.length, total];
  };

  it('deletes clicks and soft bounces after 90 days, and keeps their counts', async () => {
    const before = await statistics();
    const remainingRows = () =>
      Promise.all([deps.db.manager.countBy(MailClick, { mailId: mail.mailId }), deps.db.manager.count(MailSoftBounce)]);
    await retainMailEvents(deps.db, after(91, -1));
    const [clicks, soft] = await remainingRows();
    expect(clicks).to.equal(1);
    const { rows, more } = await retainMailEvents(deps.db, after(91));
    expect(rows.mailClicks).to.be.at.least(1);
    expect(more).to.equal(false);
    expect(await remainingRows()).to.deep.equal([0, (soft ?? 0) - rows.softBounces]);
    expect(await statistics()).to.deep.equal(before);
    expect(before).to.deep.include({ sent: 2, failed: 1, delivered: 1, opened: 1, clicked: 1 });
  });

  it('deletes recipients after two years, but never the statistics', async () => {
    const before = await statistics();
    await retainRecipients(deps.db, after(730, -1));
    expect(await deliveries()).to.deep.equal([3, 3]);
    while ((await retainRecipients(deps.db, after(730))).more);
    expect(await deliveries()).to.deep.equal([0, 0]);
    expect(await deliveries('sent')).to.deep.equal([0, 0]);
    expect(await deps.db.manager.countBy(Mail, { campaignId })).to.equal(0);
    while ((await rollUpListTallies(deps.db, 1_000)) > 0);
    expect(await statistics()).to.deep.equal(before);
    expect(await readCampaign(deps.db, club.id, campaignId)).to.include({ status: 'sent', recipients: 3 });
    expect(await retainRecipients(deps.db, after(5_000))).to.deep.equal({ rows: { recipients: 0 }, more: false });
  });

  it('keeps the campaign’s links valid after the recipients are deleted', async () => {
    while ((await retainRecipients(deps.db, after(730))).more);
    const [link] = await deps.db.manager.findBy(MailLink, { causeId: campaignId, position: 0 });
    const token = linkToken(deps.vault, { linkId: link?.id ?? '', mailId: mail.mailId });
    expect(await followLink(deps, token, person, after(731))).to.equal('https://example.com/one');
    const refused = await retryCampaign(deps, club.id, campaignId, { acceptDuplicates: true }, after(731)).catch(
      (error: DomainError) => error.code,
    );
    expect(refused).to.equal('campaign_state');
  });

  it('keeps the recipients of a campaign that has not ended', async () => {
    await deps.db.manager.update(Campaign, campaignId, { status: 'sending', endedAt: null });
    expect(await retainRecipients(deps.db, after(5_000))).to.deep.equal({ rows: { recipients: 0 }, more: false });
    expect(await deliveries()).to.deep.equal([3, 3]);
  });
});

describe('a campaign with too many bounces or complaints (CAMP-16)', () => {
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let club: TestClub;
  let campaignId: Id;
  beforeEach(async () => {
    deps = await testDeps();
    ({ club, campaignId } = await sendCampaign({ count: 1, now: start }));
    await deps.db.manager.update(Campaign, campaignId, { status: 'sending', endedAt: null });
  });
  /** Each mail goes to another student. */
  const addSent = async (count: number): Promise<Id[]> => {
    const ids = Array.from({ length: count }, () => newId());
    await deps.db.run(sql`INSERT INTO students (id, club_id, name, email, verified_at, created_at)
      SELECT id, ${club.id}, 'Ada', id || '@example.com', ${start}, ${start} FROM unnest(${ids}::uuid[]) AS one (id)`);
    await deps.db
      .run(sql`INSERT INTO mails (id, club_id, campaign_id, student_id, student_name, student_email, status, next_attempt_at, created_at, fence, sent_at)
      SELECT id, ${club.id}, ${campaignId}, id, 'Ada', 'x', 'sent', ${start}, ${start}, 1, ${start} FROM unnest(${ids}::uuid[]) AS one (id)`);
    return ids;
  };
  const tell = (kind: 'bounced' | 'complained', ids: readonly Id[]) =>
    recordEvents(
      deps.db,
      ids.map((mailId) => ({ kind, at: start, mailId, providerId: undefined })),
      start,
    );
  const step = async () => {
    await deps.db.manager.update(Mail, (await deps.db.manager.findOneByOrFail(Mail, { campaignId })).id, {
      status: 'pending',
      sentAt: null,
    });
    const sending = await sendingDeps({
      connections: 1,
      onConnection: (work) => work(),
      handOver: async () => ({ kind: 'accepted', reply: '250 ok' }),
    });
    await stepCampaign(sending, campaignId, start.getTime());
    const { status, pause_reason: reason } = await readCampaign(deps.db, club.id, campaignId);
    return [status, reason];
  };

  it('pauses before the next page of mails, and records the reason', async () => {
    const ids = await addSent(220);
    await tell('bounced', ids.slice(0, 10));
    expect(await step()).to.deep.equal(['sending', undefined]);
    await tell('bounced', ids.slice(10, 12));
    expect(await step()).to.deep.equal(['paused', 'bounces']);
    expect(await deps.db.manager.countBy(Mail, { campaignId, status: 'pending' })).to.equal(1);
  });

  it('continues after it is resumed, and can pause again after 200 more mails', async () => {
    const ids = await addSent(220);
    await tell('complained', ids.slice(0, 1));
    expect(await step()).to.deep.equal(['paused', 'complaints']);
    await resumeCampaign(deps, club.id, campaignId, start);
    expect(await step()).to.deep.equal(['sending', undefined]);
    const more = await addSent(150);
    await tell('complained', more);
    expect(await step()).to.deep.equal(['sending', undefined]);
    await addSent(60);
    expect(await step()).to.deep.equal(['paused', 'complaints']);
  });
});
