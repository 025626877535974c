/** Presents campaigns as records of the API, and finds a campaign. */
import type { RecordOf } from '../../contract/contract.ts';
import { Campaign } from '../../entities/campaigns/campaign.ts';
import { notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { columns, raw, sql, type RowOf } from '../../platform/infra/postgres/sql.ts';
import type { Condition } from '../conditions/conditions.ts';
import { contentRules, type EmailContent } from '../mail/content/email-content.ts';

const fieldsWithoutContents = [
  'id',
  'clubId',
  'name',
  'status',
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
] as const;

const campaignColumns = columns(Campaign, [...fieldsWithoutContents, 'content', 'audience']);

/** The columns of a row in a list (CAMP-18), without the contents, because a page of them could have 100 MB. */
export const summaryColumns = columns(Campaign, fieldsWithoutContents).and<Pick<CampaignRow, 'content' | 'audience'>>(
  sql`jsonb_strip_nulls(jsonb_build_object('subject', left(content ->> 'subject', ${contentRules.lineCharacters}), 'blocks', '[]'::jsonb)) AS content,
      jsonb_build_object('match', audience -> 'match', 'rules', '[]'::jsonb) AS audience`,
);

export interface CampaignRow extends Omit<RowOf<typeof campaignColumns>, 'content' | 'audience'> {
  /** May be incomplete in a draft. */
  content: Partial<EmailContent>;
  audience: Condition;
}

/** @throws DomainError not_found (also for a campaign of another club) */
export async function findCampaign(
  db: Queries,
  clubId: Id,
  campaignId: Id,
  lock: '' | 'FOR SHARE' | 'FOR NO KEY UPDATE' = '',
): Promise<CampaignRow> {
  const campaign = await db.one<CampaignRow>(
    sql`SELECT ${campaignColumns} FROM campaigns WHERE id = ${campaignId} AND club_id = ${clubId} ${raw(lock)}`,
  );
  if (!campaign) throw notFound('campaign');
  return campaign;
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
