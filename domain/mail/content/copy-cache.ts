/**
 * A cache of rendered e-mail copies, because reads have no rate limit and a page without sign-in shows copies. A copy is rendered again
 * only after the e-mail has changed.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Id } from '../../../platform/core/ids.ts';
import type { CopiesToMake, RenderedCopy } from './email-thread.ts';
import { copiesInThread } from './email-work.ts';

/**
 * The maximum size of the cache, in bytes of HTML and text. If the cache is full, it evicts the copies that were not read for the longest
 * time.
 */
const cacheBytes = 20_000_000;
/** An estimate of a copy's memory beyond its HTML and text. */
const entryBytes = 500;
/** In seconds. The signed addresses of the images must be valid for longer. */
export const cachedSeconds = 600;

interface CacheEntry {
  copies: RenderedCopy[] | undefined;
}

/**
 * @param make a function that renders the copies. Tests pass their own function
 * @returns a function that returns copies from the cache, or renders them. Callers must not change them
 */
export function cacheCopies(make: typeof copiesInThread = copiesInThread): typeof copiesInThread {
  const cache = new LRUCache<string, CacheEntry, Parameters<typeof copiesInThread>>({
    maxSize: cacheBytes,
    ttl: cachedSeconds * 1_000,
    sizeCalculation: ({ copies = [] }) =>
      copies.reduce((sum, { body }) => sum + entryBytes + (body?.html.length ?? 0) + (body?.text.length ?? 0), 1),
    fetchMethod: async (_key, _stale, { context }) => ({ copies: await make(...context) }),
  });
  return async (clubId: Id, copies: CopiesToMake) => {
    // The cache key contains the addresses of images without the query. The query changes, because every read signs the address of an image
    // again. The rest of the address never changes for a file.
    const files = Object.entries(copies.imageUrls).map(([id, url]) => [id, url.split('?', 1)[0]].join(' '));
    const parts = { ...copies, imageUrls: files.toSorted() };
    const key = createHash('sha256').update(clubId).update(JSON.stringify(parts)).digest('base64url');
    return (await cache.forceFetch(key, { context: [clubId, copies] })).copies;
  };
}
