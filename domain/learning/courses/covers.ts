/** Covers of courses: an image of the library, kept as the one file that the course itself uses (MED-14). */
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/object-store.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import type { Page } from '../../../platform/infra/postgres/lists/page.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { presentUsed } from '../../media/shown.ts';
import { setUses } from '../../media/uses.ts';

/**
 * Gives a course its cover, in place of the one that it has. The caller holds the course.
 * @param mediaId `none` takes the cover away
 * @throws DomainError not_found, media_archived, invalid_request (no image that is ready)
 */
export async function setCover(tx: Transaction, clubId: Id, courseId: Id, mediaId: string): Promise<void> {
  const cover = mediaId === 'none' ? [] : [mediaId];
  await setUses(tx, clubId, { kind: 'course', id: courseId }, cover);
  if (mediaId === 'none') return;
  const image = await tx.one(
    sql`SELECT 1 FROM media WHERE id = ${mediaId} AND kind = 'image' AND status = 'ready' AND external_id IS NULL`,
  );
  if (!image) throw new DomainError('invalid_request', 'cover_media_id must be an image of the library that is ready.');
}

interface Covered {
  db: Queries;
  storage: ObjectStore;
}

/** @returns the course with its cover, where it has one */
export async function withCover<C extends { id: Id }>(
  deps: Covered,
  course: C | Promise<C>,
): Promise<C & { cover?: RecordOf<'Media'> }> {
  const [shown] = await withCovers(deps, [await course]);
  if (!shown) throw new Error('One course in, one out');
  return shown;
}

/** @returns the page, each course with its cover where it has one */
export async function pageWithCovers<C extends { id: Id }>(
  deps: Covered,
  page: Promise<Page<C>>,
): Promise<Page<C & { cover?: RecordOf<'Media'> }>> {
  const { rows, total } = await page;
  return { rows: await withCovers(deps, rows), total };
}

async function withCovers<C extends { id: Id }>(
  { db, storage }: Covered,
  courses: readonly C[],
): Promise<(C & { cover?: RecordOf<'Media'> })[]> {
  const ids = courses.map(({ id }) => id);
  const covers = await presentUsed(db, storage, 'course', ids);
  return courses.map((course) => {
    const [cover] = covers.get(course.id) ?? [];
    return cover ? { ...course, cover } : course;
  });
}
