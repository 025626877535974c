/** Erases the objects of a club in both buckets, with every version and every unfinished upload (ERS-13). */
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { addCount } from './counts.ts';
import type { ErasedClub } from './rows.ts';

/** The prefixes of the keys of a club, by the name of the bucket. */
export const objectPrefixes = (clubId: Id) =>
  [
    { bucket: 'private', prefix: `media/${clubId}/` },
    { bucket: 'public', prefix: `public/${clubId}/` },
    { bucket: 'private', prefix: `certificates/${clubId}/` },
    { bucket: 'private', prefix: `student-imports/${clubId}/` },
    { bucket: 'private', prefix: `exports/${clubId}/` },
    { bucket: 'public', prefix: `mail/${clubId}/` },
  ] as const;

/**
 * Erases objects of the club for about this time. The count is written before a page is erased: after a crash, the remaining objects of
 * the page are counted again, but none is missing in the count.
 * @param budgetMs in milliseconds
 * @returns the number of objects, and whether more may remain
 */
export async function eraseClubObjects(
  { db, storage }: { db: Queries; storage: ObjectStore },
  { clubId, erasureId }: ErasedClub,
  budgetMs: number,
): Promise<{ erased: number; more: boolean }> {
  const ends = performance.now() + budgetMs;
  let erased = 0;
  for (const { bucket, prefix } of objectPrefixes(clubId)) {
    await storage.endUploadsUnder(prefix);
    for (;;) {
      const keys = await storage.listKeys(prefix);
      if (keys.length === 0) break;
      if (erasureId !== null) await addCount(db, erasureId, 'buckets', bucket, keys.length);
      await removeEach(storage, keys);
      erased += keys.length;
      if (performance.now() > ends) return { erased, more: true };
    }
  }
  return { erased, more: false };
}

/** The number of objects that are removed at the same time. */
const removalsAtOnce = 8;

async function removeEach(storage: ObjectStore, keys: readonly string[]): Promise<void> {
  await Promise.all(
    Array.from({ length: removalsAtOnce }, async (_, first) => {
      for (let at = first; at < keys.length; at += removalsAtOnce) await storage.remove(keys[at] ?? '');
    }),
  );
}
