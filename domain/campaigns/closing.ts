/** Ends the campaigns of a club that is erased. */
import type { CampaignStatus } from '../../entities/campaigns/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { CloseClub } from '../questions.ts';
import { eraseOldMailPictures } from './old-pictures.ts';
import { cancelCampaign, pauseCampaign } from './states.ts';

const mailsPerBatch = 1_000;

/**
 * Pauses each open campaign, because no worker claims a mail of a paused campaign. Then skips its mails in batches, and cancels the
 * campaign. Test mails that wait are deleted. At the end, the older copies of mail images are erased, whose names follow from the rows of
 * the club (ERS-27).
 */
export const closeCampaigns: CloseClub = async (deps, clubId, now) => {
  const { db } = deps;
  const campaign = await db.one<{ id: Id; status: CampaignStatus }>(sql`SELECT id, status FROM campaigns
    WHERE club_id = ${clubId} AND status IN ('scheduled', 'sending', 'paused') ORDER BY status = 'paused', id LIMIT 1`);
  if (!campaign) {
    await db.run(sql`DELETE FROM test_mails WHERE club_id = ${clubId} AND status = 'pending'`);
    return eraseOldMailPictures(deps, clubId, now);
  }
  if (campaign.status !== 'paused') {
    await pauseCampaign({ db }, clubId, campaign.id, now);
    return { more: true };
  }
  const skipped = await db.run(sql`UPDATE mails SET status = 'skipped', skip_reason = 'canceled' WHERE id IN (
    SELECT id FROM mails WHERE campaign_id = ${campaign.id} AND status = 'pending' ORDER BY id LIMIT ${mailsPerBatch} FOR UPDATE)`);
  if (skipped < mailsPerBatch) await cancelCampaign({ db }, clubId, campaign.id, now);
  return { more: true };
};
