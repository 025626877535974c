/** Adds the covers to courses (MED-14). */
import type { RecordOf } from '../../../contract/contract.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import type { Page } from '../../../platform/infra/postgres/lists/page.ts';
import { presentUsed } from '../../media/uses/presentation.ts';

interface Covered {
  db: Queries;
  storage: ObjectStore;
}

/** @returns the course with its cover, if it has one */
export async function withCover<C extends { id: Id }>(
  deps: Covered,
  course: C | Promise<C>,
): Promise<C & { cover?: RecordOf<'Media'> }> {
  const [shown] = await withCovers(deps, [await course]);
  if (!shown) throw new Error('The page with one course came back empty');
  return shown;
}

/** @returns the page, each course with its cover if it has one */
export async function pageWithCovers<C extends { id: Id }>(
  deps: Covered,
  page: Promise<Page<C>>,
): Promise<Page<C & { cover?: RecordOf<'Media'> }>> {
  const { rows, ...rest } = await page;
  return { ...rest, rows: await withCovers(deps, rows) };
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
