/** What the steps of campaigns need in tests. */
import { readConfig } from '../../../config.ts';
import type { SendingDeps } from '../../../domain/campaigns/sending.ts';
import { createObjectStore } from '../../../platform/infra/object-store.ts';
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
