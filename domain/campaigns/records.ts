/** Campaigns as callers see them, and how one is found. */
import type { RecordOf } from '../../contract/contract.ts';
import { Campaign } from '../../entities/campaigns/campaign.ts';
import { notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { columns, raw, sql, type RowOf } from '../../platform/infra/postgres/sql.ts';
import type { Condition } from '../conditions/conditions.ts';
import type { EmailContent } from '../mail/content/email-content.ts';

export const campaignColumns = columns(Campaign, [
  'id',
  'clubId',
  'name',
  'status',
  'content',
  'audience',
  'windowFrom',
  'windowTo',
  'pauseReason',
  'scheduledAt',
  'frozenAt',
  'recipients',
  'endedAt',
  'finalStatistics',
  'createdAt',
  'updatedAt',
]);

export interface CampaignRow extends Omit<RowOf<typeof campaignColumns>, 'content' | 'audience'> {
  /** A draft's may be incomplete. */
  content: Partial<EmailContent>;
  audience: Condition;
}

/** @throws DomainError not_found, also for one of another club */
export async function findCampaign(
  db: Queries,
  clubId: Id,
  campaignId: Id,
  lock: '' | 'FOR SHARE' | 'FOR NO KEY UPDATE' = '',
): Promise<CampaignRow> {
  const found = await db.one<CampaignRow>(
    sql`SELECT ${campaignColumns} FROM campaigns WHERE id = ${campaignId} AND club_id = ${clubId} ${raw(lock)}`,
  );
  if (!found) throw notFound('campaign');
  return found;
}

/** @throws DomainError not_found */
export async function readCampaign(db: Queries, clubId: Id, campaignId: Id): Promise<RecordOf<'Campaign'>> {
  return presentCampaign(await findCampaign(db, clubId, campaignId));
}

export function presentCampaign(campaign: CampaignRow): RecordOf<'Campaign'> {
  const { windowFrom, windowTo } = campaign;
  return {
    id: campaign.id,
    name: campaign.name,
    status: campaign.status,
    content: campaign.content as RecordOf<'CampaignEmail'>,
    audience: campaign.audience as RecordOf<'AutomationCondition'>,
    ...(windowFrom !== null && windowTo !== null && { send_window: { from: windowFrom, to: windowTo } }),
    ...(campaign.scheduledAt !== null && { scheduled_at: campaign.scheduledAt.toISOString() }),
    ...(campaign.pauseReason !== null && { pause_reason: campaign.pauseReason }),
    recipients: campaign.recipients,
    ...(campaign.frozenAt !== null && { started_at: campaign.frozenAt.toISOString() }),
    ...(campaign.endedAt !== null && { ended_at: campaign.endedAt.toISOString() }),
    created_at: campaign.createdAt.toISOString(),
    updated_at: campaign.updatedAt.toISOString(),
  };
}
