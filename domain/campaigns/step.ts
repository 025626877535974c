/**
 * The step of the workflow `campaign-run/<id>`. It waits for the start time, freezes the recipients, and then sends one page of mails after
 * another (CAMP-8, CAMP-9).
 */
import { Campaign } from '../../entities/campaigns/campaign.ts';
import type { CampaignStatus, PauseReason } from '../../entities/campaigns/values.ts';
import { Club } from '../../entities/clubs/club.ts';
import { Mail } from '../../entities/mail/mail.ts';
import { MailSender } from '../../entities/mail/mail-sender.ts';
import type { Id } from '../../platform/core/ids.ts';
import { nextOpening } from '../../platform/core/time/local-time.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { countListed } from '../../platform/infra/postgres/lists/counts.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { analyzeAfter } from '../../platform/infra/postgres/statistics.ts';
import { DomainError } from '../../platform/core/errors.ts';
import { requireFeature } from '../billing/allowances.ts';
import { findBranding } from '../branding/branding.ts';
import type { CompiledEmail } from '../mail/content/compile.ts';
import { compileInThread } from '../mail/content/email-work.ts';
import type { EmailContent } from '../mail/content/email-content.ts';
import { endExpiredLeases } from '../mail/sending/leases.ts';
import { insertLinks, type LinkedEmail } from '../mail/tracking/addresses.ts';
import { sendWithinBounds } from '../mail/sending/within-bounds.ts';
import { audienceOf, hasProblems } from './drafts/checks.ts';
import { imageIdsOf, publishImages, setImagesOf, widthsOf, withAddresses } from './drafts/images.ts';
import { reasonOfRates } from './rates.ts';
import { purgeStudentFromCampaigns } from './recipients.ts';
import { findCampaign, type CampaignRow } from './records.ts';
import { sendPage, type SendingDeps } from './sending.ts';
import { pause } from './states.ts';

/** The event for which the campaign waits. `page` means that the campaign does not wait, because more mails are due. */
type Awaited = 'start' | 'resume' | 'window' | 'rate' | 'day' | 'retries' | 'server' | 'under_way' | 'page';

export type CampaignStep =
  | { done: true; outcome: 'sent' | 'canceled' | 'draft' }
  | {
      done: false;
      at?: number;
      status: CampaignStatus;
      waitingFor: Awaited;
      settled: number;
      recipients: number;
    };

/** The maximum number of mails that one activity sends. If the mail server is slow, the activity ends earlier. */
const pageSize = 1_000;
/** Longer than a restart of the mail server. */
const serverRestMs = 15_000;
/** A campaign that starts later than this pauses, so that an administrator decides whether the e-mail is still wanted. */
const missedStartMs = 24 * 3_600_000;
/** Resuming wakes the run of a paused campaign. In case this wake is lost, the run also reads its row at this interval. */
const pausedLooksMs = 7 * 24 * 3_600_000;

/** @param now Unix milliseconds */
export async function stepCampaign(deps: SendingDeps, campaignId: Id, now: number): Promise<CampaignStep> {
  const { db } = deps;
  const at = new Date(now);
  const campaign = await db.manager.findOneBy(Campaign, { id: campaignId });
  if (!campaign) return { done: true, outcome: 'draft' }; // the row was deleted, and only a draft can be deleted
  const waiting = (waitingFor: Awaited, until?: number): CampaignStep => ({
    done: false,
    ...(until !== undefined && { at: until }),
    status: campaign.status,
    waitingFor,
    settled: 0,
    recipients: campaign.recipients,
  });
  switch (campaign.status) {
    case 'draft':
    case 'sent':
      return { done: true, outcome: campaign.status };
    case 'canceled':
    case 'paused': {
      // Every claimed mail still gets an outcome. The worker that claimed the mail records it. If the lease ends first, the outcome is
      // "unknown".
      const leased = await endExpiredLeases(deps.db, sql`campaign_id = ${campaignId}`);
      if (leased !== undefined) return rest(deps, campaign, 'under_way', leased);
      if (campaign.status === 'paused') return rest(deps, campaign, 'resume', new Date(now + pausedLooksMs));
      await db.run(sql`UPDATE campaigns SET looks_at = NULL WHERE id = ${campaignId} AND status = 'canceled'`);
      return { done: true, outcome: 'canceled' };
    }
    case 'scheduled': {
      const start = campaign.scheduledAt?.getTime() ?? now;
      if (now < start) return waiting('start', start);
      await begin(deps, campaign, at);
      return waiting('page');
    }
    case 'sending':
      return send(deps, campaign, at);
  }
}

/**
 * Compiles the e-mail and publishes its images, then fixes the recipients in one transaction. Students who join the audience later are
 * not added. If the campaign was unscheduled, changed and scheduled again during this work, nothing happens, and the next step compiles the
 * e-mail again.
 */
async function begin(deps: SendingDeps, { id, clubId, content, updatedAt }: Campaign, now: Date): Promise<void> {
  const { db } = deps;
  const compiled = await compileFor(deps, { id, clubId, content: content as EmailContent });
  const recipients = await db.transaction(async (tx) => {
    const campaign = await findCampaign(tx, clubId, id, 'FOR NO KEY UPDATE');
    if (campaign.status !== 'scheduled' || campaign.updatedAt.getTime() !== updatedAt.getTime()) return 0;
    const reason = await reasonNotToBegin(tx, campaign, now);
    if (reason !== undefined || compiled === undefined) {
      await pause(tx, campaign, reason ?? 'problems', now);
      return 0;
    }
    await setImagesOf(tx, clubId, { kind: 'campaign', id }, []); // the e-mail now uses public copies of its images
    const linkedEmail: LinkedEmail = { ...compiled, linkIds: await insertLinks(tx, clubId, id, compiled.links) };
    const frozen = await tx.one<{ recipients: number }>(sql`
      WITH frozen AS (
        INSERT INTO mails (id, club_id, campaign_id, student_id, student_name, student_email, next_attempt_at, created_at)
        SELECT gen_random_uuid(), ${clubId}, ${id}, student.id, student.name, student.email, ${now}, ${now}
          FROM (${audienceOf(clubId, campaign.audience, now)}) AS audience JOIN students student ON student.id = audience.student
         WHERE audience.left_out IS NULL ORDER BY student.created_at, student.id
        RETURNING 1)
      UPDATE campaigns SET status = 'sending', compiled = ${JSON.stringify(linkedEmail)}, frozen_at = ${now}, looks_at = ${now},
             recipients = (SELECT count(*) FROM frozen), updated_at = ${now}
       WHERE id = ${id} RETURNING recipients`);
    await purgeRemovedMeanwhile(tx, id);
    return frozen?.recipients ?? 0;
  });
  await analyzeAfter(db, Mail, recipients);
}

/**
 * Removes the data of students who were removed while this transaction fixed the recipients. The transaction reads the students at its
 * beginning, so it may add a mail for a student who is just being removed. That removal does not see the new mail. A later removal waits
 * for this transaction and sees the mail.
 */
async function purgeRemovedMeanwhile(tx: Transaction, campaignId: Id): Promise<void> {
  const removedRecipients = await tx.rows<{
    id: Id;
  }>(sql`SELECT student.id FROM mails mail JOIN students student ON student.id = mail.student_id
    WHERE mail.campaign_id = ${campaignId} AND student.removed_at IS NOT NULL ORDER BY student.id`);
  for (const { id } of removedRecipients) await purgeStudentFromCampaigns(tx, id);
}

/** @returns undefined if the campaign has a problem that appeared after it was scheduled */
async function compileFor(
  deps: SendingDeps,
  { id, clubId, content }: { id: Id; clubId: Id; content: EmailContent },
): Promise<CompiledEmail | undefined> {
  const sender = await deps.db.manager.findOneBy(MailSender, { clubId });
  if (!sender) return undefined;
  const { fromName: clubName, postalAddress } = sender;
  const images = await publishImages({ ...deps, ...deps.images }, id, clubId, imageIdsOf(content));
  if (!images) return undefined;
  const { language } = await deps.db.manager.findOneByOrFail(Club, { id: clubId });
  const branding = await findBranding(deps.db, deps.publicUrl, clubId);
  const letterhead = { clubName, postalAddress, language, branding };
  const compiled = await compileInThread(clubId, content, letterhead, widthsOf(images));
  return compiled && withAddresses(compiled, images);
}

async function reasonNotToBegin(tx: Transaction, campaign: CampaignRow, now: Date): Promise<PauseReason | undefined> {
  if (campaign.scheduledAt !== null && now.getTime() - campaign.scheduledAt.getTime() > missedStartMs)
    return 'missed_start';
  if (!(await hasCampaigns(tx, campaign.clubId))) return 'plan';
  return (await hasProblems(tx, campaign)) ? 'problems' : undefined;
}

async function hasCampaigns(db: Queries, clubId: Id): Promise<boolean> {
  try {
    await requireFeature(db, clubId, 'campaigns');
    return true;
  } catch (error) {
    if (error instanceof DomainError) return false;
    throw error;
  }
}

async function send(deps: SendingDeps, campaign: Campaign, now: Date): Promise<CampaignStep> {
  const { db } = deps;
  const leased = await endExpiredLeases(deps.db, sql`campaign_id = ${campaign.id}`);
  const due = await db.one<{ due: number }>(sql`SELECT count(*)::int AS due FROM (
    SELECT FROM mails WHERE campaign_id = ${campaign.id} AND status = 'pending' AND next_attempt_at <= ${now} LIMIT ${pageSize}) AS page`);
  if (due && due.due > 0) {
    if (!(await hasCampaigns(db, campaign.clubId))) return pauseFor(deps, campaign, 'plan', now);
    const reason = await reasonOfRates(db, campaign);
    if (reason) return pauseFor(deps, campaign, reason, now);
    const opens = await windowOpens(deps, campaign, now);
    if (opens > now) return rest(deps, campaign, 'window', opens, leased);
    const page = await sendWithinBounds(deps, campaign.clubId, due.due, now, (from, most) =>
      sendPage(deps, campaign, from, most, now),
    );
    if ('until' in page) return rest(deps, campaign, page.waitingFor, page.until, leased);
    return page.isUnreached
      ? rest(deps, campaign, 'server', new Date(now.getTime() + serverRestMs))
      : rest(deps, campaign, 'page', now);
  }
  return finishOrWait(deps, campaign, leased, now);
}

async function pauseFor(deps: SendingDeps, campaign: Campaign, reason: PauseReason, now: Date): Promise<CampaignStep> {
  await deps.db.transaction(async (tx) => {
    const current = await findCampaign(tx, campaign.clubId, campaign.id, 'FOR NO KEY UPDATE');
    if (current.status === 'sending') await pause(tx, current, reason, now);
  });
  return rest(deps, campaign, 'page', now);
}

async function windowOpens({ db }: SendingDeps, { clubId, windowFrom, windowTo }: Campaign, now: Date): Promise<Date> {
  if (windowFrom === null || windowTo === null) return now;
  const { timeZone } = await db.manager.findOneByOrFail(Club, { id: clubId });
  return nextOpening({ from: windowFrom, to: windowTo }, timeZone, now);
}

/** Runs when nothing is due: ends the campaign, or waits for the next attempt or for the end of a lease. */
async function finishOrWait(
  deps: SendingDeps,
  campaign: Campaign,
  leased: Date | undefined,
  now: Date,
): Promise<CampaignStep> {
  const { db } = deps;
  const nextPending = await db.one<{ next: Date | null }>(
    sql`SELECT min(next_attempt_at) AS next FROM mails WHERE campaign_id = ${campaign.id} AND status = 'pending'`,
  );
  if (nextPending?.next) return rest(deps, campaign, 'retries', nextPending.next, leased);
  if (leased) return rest(deps, campaign, 'under_way', leased);
  const ended = await db.run(sql`UPDATE campaigns SET status = 'sent', ended_at = ${now}, looks_at = NULL
    WHERE id = ${campaign.id} AND status = 'sending'
      AND NOT EXISTS (SELECT FROM mails WHERE campaign_id = ${campaign.id} AND status IN ('pending', 'sending'))`);
  return ended === 1 ? { done: true, outcome: 'sent' } : rest(deps, campaign, 'page', now);
}

/**
 * Records in the campaign's row when the next step is due, so that the sweeper finds the campaign if its run is lost.
 * @param leased the earliest end of a lease. The step runs again then at the latest, so that no mail stays open after its lease
 */
async function rest(
  { db }: SendingDeps,
  { id, clubId, recipients }: Campaign,
  waitingFor: Exclude<Awaited, 'start'>,
  until: Date,
  leased: Date = until,
): Promise<CampaignStep> {
  const at = leased < until ? leased : until;
  const row = await db.one<{ status: CampaignStatus }>(sql`UPDATE campaigns
    SET looks_at = ${at} WHERE id = ${id} AND status IN ('sending', 'paused', 'canceled') RETURNING status`);
  const open = await countListed(db, { list: 'mails_open', clubId, subjectId: id });
  return {
    done: false,
    ...(waitingFor !== 'page' && { at: at.getTime() }),
    status: row?.status ?? 'sending',
    waitingFor,
    settled: recipients - open,
    recipients,
  };
}
