/** Campaigns of tests: what their steps need, and one that is scheduled. */
import { readConfig } from '../../../config.ts';
import { createCampaign } from '../../../domain/campaigns/drafts.ts';
import type { SendingDeps } from '../../../domain/campaigns/sending.ts';
import { setSender } from '../../../domain/mail/sender.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { createObjectStore } from '../../../platform/infra/object-store.ts';
import { buildClub, type TestClub } from '../builders/clubs.ts';
import { testDeps } from '../stack/database.ts';
import { testObjectStore } from '../stack/storage.ts';

/** @param smtp the mail server, or what stands for it @returns real stores, and a sender of the platform's own */
export async function sendingDeps(smtp: SendingDeps['smtp']): Promise<SendingDeps> {
  const { storage } = readConfig();
  return {
    ...(await testDeps()),
    smtp,
    images: {
      storage: await testObjectStore(),
      publicStorage: createObjectStore({ ...storage, privateBucket: storage.publicBucket }),
      publicFilesUrl: storage.publicFilesUrl,
    },
    fromAddress: 'news@platform.example',
    publicUrl: 'https://api.example',
    onOutcome: () => undefined,
    failpoint: async () => undefined,
  };
}

/** A draft to everybody, in a club that says how it writes. */
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
