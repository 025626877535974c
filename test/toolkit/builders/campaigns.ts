/** Builds campaigns in clubs that have a sender. */
import { createCampaign } from '../../../domain/campaigns/drafts/drafts.ts';
import { setSender } from '../../../domain/mail/sending/sender.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { testDeps } from '../stack/database.ts';
import { buildClub, type TestClub } from './clubs.ts';

/** A draft of a campaign to all students, in a club that has a sender. */
export async function buildCampaign(now: Date): Promise<{ club: TestClub; campaignId: Id }> {
  const deps = await testDeps();
  const club = await buildClub();
  const sender = { from_name: 'Knots & Co', postal_address: 'Quay 1', reply_to: 'crew@example.com' };
  await setSender(deps, club.id, sender, now);
  const content = {
    subject: 'Hi {{student_first_name|you}}',
    blocks: [{ kind: 'button' as const, text: 'Go', url: 'https://example.com' }],
  };
  const { id } = await createCampaign(deps, club.id, { name: 'Spring', content }, now);
  return { club, campaignId: id };
}
