/** Lists and removes a student's files for assignments that are not submitted yet. */
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { lockStudent } from '../../identity/accounts/accounts.ts';
import { eraseImmediately, removeOne } from '../erasure/erasure.ts';
import { mediaColumns, presentMedia, type MediaDeps, type MediaOwner, type StoredMedia } from '../media.ts';
import { RefusalToPerson } from '../../language/refusal.ts';

/**
 * A condition on `media`. It is true if a file for an assignment belongs to no attempt. A ready file that belongs to no attempt has an
 * erasure time; a file that belongs to an attempt has none.
 */
const isUnsent = sql`(erases_at IS NOT NULL OR status <> 'ready')`;

/** @returns a page of the files in the student's limit of 20 unsent files, newest first */
export async function listUnsentFiles(
  db: Queries,
  storage: ObjectStore,
  studentId: Id,
  page: PageRequest,
): Promise<Page<RecordOf<'Media'>>> {
  const { rows, total, next } = await listPage<StoredMedia>(db, page, {
    columns: mediaColumns,
    from: sql`FROM media WHERE owner_id = ${studentId} AND purpose = 'assignment' AND status <> 'failed' AND removed_at IS NULL AND ${isUnsent}`,
    orderBy: newestFirst('media'),
  });
  return { rows: await Promise.all(rows.map((row) => presentMedia(row, storage))), total, next };
}

/**
 * Removes an unsent file of a student. The function locks the student. So a submission at the same time either commits first or does not
 * find the file.
 * @throws DomainError not_found (also for a file of another owner or purpose), in_use (the file belongs to an attempt)
 */
export async function removeUnsentFile(
  deps: MediaDeps,
  { clubId, studentId }: Required<MediaOwner>,
  mediaId: Id,
  now: Date,
): Promise<void> {
  await deps.db.transaction(async (tx) => {
    await lockStudent(tx, clubId, studentId);
    const file = await tx.one<{ unsent: boolean }>(sql`
      SELECT ${isUnsent} AS unsent FROM media
       WHERE id = ${mediaId} AND club_id = ${clubId} AND owner_id = ${studentId} AND purpose = 'assignment' AND removed_at IS NULL
         FOR NO KEY UPDATE`);
    if (!file) throw notFound('file');
    if (!file.unsent) throw new RefusalToPerson('in_use', 'refusal.file_in_sent_work');
    await removeOne(tx, mediaId, now);
  });
  await eraseImmediately(deps, mediaId, now);
}
