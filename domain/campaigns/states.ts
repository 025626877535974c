/** Lets administrators schedule, unschedule, pause, resume, cancel and retry a campaign (CAMP-8). */
import type { RecordOf } from '../../contract/contract.ts';
import { Campaign } from '../../entities/campaigns/campaign.ts';
import type { CampaignStatus, PauseReason } from '../../entities/campaigns/values.ts';
import { Club } from '../../entities/clubs/club.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { instantOf } from '../../platform/core/time/local-time.ts';
import { wake } from '../../platform/engine/wakes.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { requireFeature } from '../billing/allowances.ts';
import type { DatabaseDeps } from '../deps.ts';
import { outcomeUnknown } from '../mail/sending/recipients.policy.ts';
import { emailProblems, schedulingProblems } from './drafts/checks.ts';
import { setImagesOf } from './drafts/images.ts';
import { readRates } from './rates.ts';
import { findCampaign, readCampaign, type CampaignRow } from './records.ts';

type Record = RecordOf<'Campaign'>;

/**
 * @param at the time in the club's time zone; if absent, the campaign starts immediately
 * @throws DomainError not_found, campaign_not_draft, feature_not_in_plan, invalid_request (the campaign has problems, or the time is in the
 * past or does not exist)
 */
export async function scheduleCampaign(
  { db }: DatabaseDeps,
  clubId: Id,
  campaignId: Id,
  at: string | undefined,
  now: Date,
): Promise<Record> {
  await emailProblems(db, await findCampaign(db, clubId, campaignId)); // fills a cache, so that the check in the transaction is fast
  return db.transaction(async (tx) => {
    const campaign = await findCampaign(tx, clubId, campaignId, 'FOR NO KEY UPDATE');
    if (campaign.status !== 'draft')
      throw new DomainError('campaign_not_draft', 'Only a draft can be scheduled. This campaign was scheduled before.');
    await requireFeature(tx, clubId, 'campaigns');
    const [problem] = (await schedulingProblems(tx, campaign, now)).problems;
    if (problem)
      throw new DomainError(
        'invalid_request',
        `The campaign has problems, listed under \`problems\`: ${problem.path}: ${problem.message}`,
      );
    const scheduledAt = at === undefined ? now : await instantInClub(tx, clubId, at, now);
    return move(tx, campaign, { status: 'scheduled', scheduledAt, looksAt: scheduledAt }, now);
  });
}

async function instantInClub(tx: Transaction, clubId: Id, at: string, now: Date): Promise<Date> {
  const { timeZone } = await tx.manager.findOneByOrFail(Club, { id: clubId });
  const invalid = (why: string) => new DomainError('invalid_request', `\`at\` ${why} in ${timeZone}.`);
  let instant: Date | undefined;
  try {
    instant = instantOf(at, timeZone);
  } catch {
    throw invalid('is not a valid time');
  }
  if (instant === undefined) throw invalid('does not exist, because the clocks are set forward over it');
  if (instant < now) throw invalid('is past');
  return instant;
}

/**
 * Turns a campaign back into a draft, if no mail was sent. The campaign must be scheduled, or paused before its recipients were frozen
 * (DEC-156).
 * @throws DomainError not_found, campaign_state
 */
export async function unscheduleCampaign(deps: DatabaseDeps, clubId: Id, campaignId: Id, now: Date): Promise<Record> {
  return change(deps, clubId, campaignId, ['scheduled', 'paused'], async (tx, campaign) => {
    if (campaign.frozenAt !== null)
      throw new DomainError(
        'campaign_state',
        'The campaign has begun and its recipients are frozen. Duplicate it instead.',
      );
    return move(tx, campaign, { status: 'draft', pauseReason: null, scheduledAt: null, looksAt: null }, now);
  });
}

/** @throws DomainError not_found, campaign_state */
export async function pauseCampaign(deps: DatabaseDeps, clubId: Id, campaignId: Id, now: Date): Promise<Record> {
  return change(deps, clubId, campaignId, ['scheduled', 'sending'], async (tx, campaign) =>
    pause(tx, campaign, 'by_hand', now),
  );
}

/** Pauses a campaign. After the commit, no worker claims a mail of the campaign. */
export function pause(tx: Transaction, campaign: CampaignRow, pauseReason: PauseReason, now: Date): Promise<Record> {
  return move(tx, campaign, { status: 'paused', pauseReason, looksAt: now }, now);
}

/**
 * Resumes a campaign. If its recipients are not frozen yet, it begins at its start time, or immediately if that time has passed.
 * @throws DomainError not_found, campaign_state, feature_not_in_plan
 */
export async function resumeCampaign(deps: DatabaseDeps, clubId: Id, campaignId: Id, now: Date): Promise<Record> {
  return change(deps, clubId, campaignId, ['paused'], async (tx, campaign) => {
    await requireFeature(tx, clubId, 'campaigns');
    const changes = {
      ...(await acceptedRates(tx, campaign)),
      pauseReason: null,
      refusals: 0,
      looksAt: now,
    };
    if (campaign.frozenAt !== null) return move(tx, campaign, { ...changes, status: 'sending' }, now);
    const start = campaign.scheduledAt !== null && campaign.scheduledAt > now ? campaign.scheduledAt : now;
    return move(tx, campaign, { ...changes, status: 'scheduled', scheduledAt: start, looksAt: start }, now);
  });
}

/**
 * An administrator who resumes a campaign after too many bounces or complaints accepts them. From then on, only later ones count (CAMP-16).
 */
async function acceptedRates(tx: Transaction, campaign: CampaignRow) {
  if (campaign.pauseReason !== 'bounces' && campaign.pauseReason !== 'complaints') return {};
  const { sent, bounced, complained } = await readRates(tx, campaign);
  return { judgedSent: sent, judgedBounced: bounced, judgedComplained: complained };
}

/**
 * Cancels a campaign. If no worker has claimed the mail of a recipient, the recipient is skipped. @throws DomainError not_found,
 * campaign_state
 */
export async function cancelCampaign(deps: DatabaseDeps, clubId: Id, campaignId: Id, now: Date): Promise<Record> {
  return change(deps, clubId, campaignId, ['scheduled', 'sending', 'paused'], async (tx, campaign) => {
    await tx.run(sql`UPDATE mails SET status = 'skipped', skip_reason = 'canceled'
      WHERE campaign_id = ${campaignId} AND status = 'pending'`);
    await setImagesOf(tx, clubId, { kind: 'campaign', id: campaignId }, []);
    return move(tx, campaign, { status: 'canceled', pauseReason: null, looksAt: now, endedAt: now }, now);
  });
}

/**
 * Makes failed recipients pending again. Mails that may have arrived are sent again only if duplicates are accepted.
 * @throws DomainError not_found, campaign_state, feature_not_in_plan
 */
export async function retryCampaign(
  deps: DatabaseDeps,
  clubId: Id,
  campaignId: Id,
  { acceptDuplicates }: { acceptDuplicates: boolean },
  now: Date,
): Promise<Record> {
  return change(deps, clubId, campaignId, ['sending', 'sent'], async (tx, campaign) => {
    await requireFeature(tx, clubId, 'campaigns');
    if (campaign.finalStatistics !== null)
      throw new DomainError('campaign_state', 'The recipients of this campaign were deleted after their retention.');
    await tx.run(sql`UPDATE mails SET status = 'pending', last_error = NULL, attempt_count = 0, next_attempt_at = ${now}
      WHERE campaign_id = ${campaignId} AND status = 'failed' AND (${acceptDuplicates} OR last_error IS DISTINCT FROM ${outcomeUnknown})`);
    return move(tx, campaign, { status: 'sending', refusals: 0, looksAt: now, endedAt: null }, now);
  });
}

async function change(
  { db }: DatabaseDeps,
  clubId: Id,
  campaignId: Id,
  from: readonly CampaignStatus[],
  work: (tx: Transaction, campaign: CampaignRow) => Promise<Record>,
): Promise<Record> {
  return db.transaction(async (tx) => {
    const campaign = await findCampaign(tx, clubId, campaignId, 'FOR NO KEY UPDATE');
    if (!from.includes(campaign.status))
      throw new DomainError('campaign_state', `The campaign is ${campaign.status}, which does not allow this action.`);
    return work(tx, campaign);
  });
}

/**
 * Writes a campaign's new state and wakes the campaign's workflow, because the workflow may now be able to continue. The caller holds the
 * lock of the campaign's row.
 */
async function move(
  tx: Transaction,
  { id, clubId }: CampaignRow,
  to: Partial<
    Pick<
      Campaign,
      | 'status'
      | 'pauseReason'
      | 'scheduledAt'
      | 'looksAt'
      | 'endedAt'
      | 'refusals'
      | (`judged${string}` & keyof Campaign)
    >
  >,
  now: Date,
): Promise<Record> {
  await tx.manager.update(Campaign, id, { ...to, updatedAt: now });
  await wake(tx, 'campaignRun', [{ id, clubId }], now);
  return readCampaign(tx, clubId, id);
}
