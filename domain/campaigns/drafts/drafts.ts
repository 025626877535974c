/** Creates, changes, copies and deletes drafts of campaigns (CAMP-8). */
import type { RecordOf } from '../../../contract/contract.ts';
import { Campaign } from '../../../entities/campaigns/campaign.ts';
import type { CampaignStatus } from '../../../entities/campaigns/values.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { tidyName } from '../../../platform/core/text/text.policy.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { all, sql } from '../../../platform/infra/postgres/sql.ts';
import { requireFeature } from '../../billing/allowances.ts';
import type { Condition } from '../../conditions/conditions.ts';
import type { DatabaseDeps } from '../../deps.ts';
import type { EmailContent } from '../../mail/content/email-content.ts';
import { setImagesOf } from './images.ts';
import { findCampaign, presentCampaign, readCampaign, summaryColumns, type CampaignRow } from '../records.ts';

type Record = RecordOf<'Campaign'>;

interface CampaignInput {
  name: string;
  content?: Partial<EmailContent>;
  audience?: Condition;
  /** The time of day in which mails are sent, in minutes of the club's local day. If `from` equals `to`, it is the whole day. */
  send_window?: { from: number; to: number };
}

const allStudents: Condition = { match: 'all', rules: [] };

/** @returns a page of the club's campaigns, newest first, without the blocks of their e-mails and the rules of their audiences */
export async function listCampaigns(
  db: Queries,
  clubId: Id,
  filter: PageRequest & { status?: CampaignStatus },
): Promise<Page<Record>> {
  const where = all([
    sql`club_id = ${clubId}`,
    filter.status === undefined ? undefined : sql`status = ${filter.status}`,
  ]);
  const { rows, total, next } = await listPage<CampaignRow>(db, filter, {
    columns: summaryColumns,
    from: sql`FROM campaigns WHERE ${where}`,
    changedAt: 'changed_at',
    orderBy: newestFirst(),
  });
  return { rows: rows.map((row) => ({ ...presentCampaign(row), is_summary: true })), total, next };
}

/** @throws DomainError feature_not_in_plan, campaign_limit_reached, media_archived */
export async function createCampaign(
  { db }: DatabaseDeps,
  clubId: Id,
  input: CampaignInput,
  now: Date,
): Promise<Record> {
  return db.transaction(async (tx) => {
    await requireFeature(tx, clubId, 'campaigns');
    return insertDraft(tx, clubId, input, now);
  });
}

/**
 * The maximum number of campaigns of a club, including sent campaigns. It is higher than any club needs, but low enough that the service
 * can list and store all campaigns (CAMP-12).
 */
export const campaignsPerClub = 5_000;

async function insertDraft(tx: Transaction, clubId: Id, input: CampaignInput, now: Date): Promise<Record> {
  const id = newId();
  await setImagesOf(tx, clubId, { kind: 'campaign', id }, [input.content]);
  // The lock prevents two concurrent creations from both passing the limit.
  await tx.run(sql`SELECT FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE`);
  if ((await tx.manager.countBy(Campaign, { clubId })) >= campaignsPerClub)
    throw new DomainError(
      'campaign_limit_reached',
      `The club has reached its limit of ${campaignsPerClub} campaigns. Delete drafts that you do not need.`,
    );
  await tx.manager.insert(Campaign, {
    id,
    clubId,
    name: tidyName(input.name),
    content: input.content ?? { blocks: [] },
    audience: input.audience ?? allStudents,
    ...windowOfDay(input.send_window),
    createdAt: now,
    updatedAt: now,
  });
  return readCampaign(tx, clubId, id);
}

const windowOfDay = (window: CampaignInput['send_window']) =>
  window === undefined || window.from === window.to
    ? { windowFrom: null, windowTo: null }
    : { windowFrom: window.from, windowTo: window.to };

/**
 * Changes the fields of a draft that `input` contains.
 * @throws DomainError not_found, campaign_not_draft, feature_not_in_plan, media_archived
 */
export async function updateCampaign(
  { db }: DatabaseDeps,
  clubId: Id,
  campaignId: Id,
  input: Partial<CampaignInput>,
  now: Date,
): Promise<Record> {
  return db.transaction(async (tx) => {
    await findDraft(tx, clubId, campaignId);
    await requireFeature(tx, clubId, 'campaigns');
    const { name, content, audience, send_window: window } = input;
    if (content !== undefined) await setImagesOf(tx, clubId, { kind: 'campaign', id: campaignId }, [content]);
    await tx.manager.update(Campaign, campaignId, {
      ...(name !== undefined && { name: tidyName(name) }),
      ...(content !== undefined && { content }),
      ...(audience !== undefined && { audience }),
      ...(window !== undefined && windowOfDay(window)),
      updatedAt: now,
    });
    return readCampaign(tx, clubId, campaignId);
  });
}

/** @throws DomainError not_found, campaign_not_draft */
export async function deleteCampaign({ db }: DatabaseDeps, clubId: Id, campaignId: Id): Promise<void> {
  await db.transaction(async (tx) => {
    await findDraft(tx, clubId, campaignId);
    await setImagesOf(tx, clubId, { kind: 'campaign', id: campaignId }, []);
    await tx.manager.delete(Campaign, campaignId);
  });
}

/**
 * Creates a draft with the same e-mail, audience and window.
 * @throws DomainError not_found, feature_not_in_plan, campaign_limit_reached, media_archived
 */
export async function duplicateCampaign({ db }: DatabaseDeps, clubId: Id, campaignId: Id, now: Date): Promise<Record> {
  return db.transaction(async (tx) => {
    const { name, content, audience, send_window: window } = await readCampaign(tx, clubId, campaignId);
    await requireFeature(tx, clubId, 'campaigns');
    return insertDraft(tx, clubId, { name, content, audience, ...(window && { send_window: window }) }, now);
  });
}

async function findDraft(tx: Transaction, clubId: Id, campaignId: Id): Promise<CampaignRow> {
  const campaign = await findCampaign(tx, clubId, campaignId, 'FOR NO KEY UPDATE');
  if (campaign.status === 'draft') return campaign;
  throw new DomainError('campaign_not_draft', 'The campaign is not a draft any more and cannot be changed.');
}
