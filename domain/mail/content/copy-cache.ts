/**
 * Copies of e-mails that are looked at again and again. Reads have no limit, and a page without a session shows them, too; so each copy is
 * made once for all who look at it, and another one takes a change of the e-mail.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Id } from '../../../platform/core/ids.ts';
import type { CopiesToMake, RenderedCopy } from './email-thread.ts';
import { copiesInThread } from './email-work.ts';

/** Of HTML and texts, of those copies that were looked at last. */
const keptBytes = 20_000_000;
/** What a copy takes besides. */
const bytesBesides = 500;
/** A copy is kept for so long, in seconds: its images must be seen longer than that. */
export const keptSeconds = 600;

interface Kept {
  copies: RenderedCopy[] | undefined;
}

/**
 * @param make another one in tests
 * @returns makes copies, or gives those that were made of the same e-mail for the same recipients; nobody may change them
 */
export function keepCopies(make: typeof copiesInThread = copiesInThread): typeof copiesInThread {
  const kept = new LRUCache<string, Kept, Parameters<typeof copiesInThread>>({
    maxSize: keptBytes,
    ttl: keptSeconds * 1_000,
    sizeCalculation: ({ copies = [] }) =>
      copies.reduce((sum, { body }) => sum + bytesBesides + (body?.html.length ?? 0) + (body?.text.length ?? 0), 1),
    fetchMethod: async (_key, _stale, { context }) => ({ copies: await make(...context) }),
  });
  return async (clubId: Id, copies: CopiesToMake) => {
    // Addresses of images are signed anew for each look; before the signature they name the file.
    const files = Object.entries(copies.imageUrls).map(([id, url]) => [id, url.split('?', 1)[0]].join(' '));
    const parts = { ...copies, imageUrls: files.toSorted() };
    const key = createHash('sha256').update(clubId).update(JSON.stringify(parts)).digest('base64url');
    return (await kept.forceFetch(key, { context: [clubId, copies] })).copies;
  };
}
