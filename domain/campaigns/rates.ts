/** Reads the bounces and complaints of a campaign from tallies (CAMP-16). */
import type { Campaign } from '../../entities/campaigns/campaign.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { countEach } from '../../platform/infra/postgres/lists/counts.ts';
import { reasonInRates, type Rates } from './rates.policy.ts';

export async function readRates(db: Queries, { id, clubId }: Pick<Campaign, 'id' | 'clubId'>): Promise<Rates> {
  const lists = ['mails_sent', 'mails_bounced', 'mails_complained'] as const;
  const count = await countEach(db, clubId, { lists, subjectIds: [id] });
  const [sent = 0, bounced = 0, complained = 0] = lists.map((list) => count({ list, subjectId: id, marked: false }));
  return { sent, bounced, complained };
}

/**
 * @returns the reason why the campaign must pause, or undefined. If an administrator has resumed the campaign after such a pause, only
 * later mails count
 */
export async function reasonOfRates(db: Queries, campaign: Campaign): Promise<'bounces' | 'complaints' | undefined> {
  const { sent, bounced, complained } = await readRates(db, campaign);
  return reasonInRates({
    sent: sent - campaign.judgedSent,
    bounced: bounced - campaign.judgedBounced,
    complained: complained - campaign.judgedComplained,
  });
}
