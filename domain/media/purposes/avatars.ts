/**
 * Pictures of students (MED-28). A student has at most one ready picture, which all members of the club see, and one unfinished picture. A
 * new reservation removes an earlier unfinished picture. When the new picture is ready, it replaces the ready picture.
 */
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { lockStudent } from '../../identity/accounts/accounts.ts';
import { setAvatar } from '../../identity/avatars.ts';
import { eraseImmediately, removeFiles } from '../erasure/erasure.ts';
import type { MediaDeps, MediaOwner } from '../media.ts';

const avatarsOf = (studentId: Id): Sql =>
  sql`SELECT id FROM media WHERE owner_id = ${studentId} AND purpose = 'avatar' AND removed_at IS NULL`;

/**
 * Removes a student's unfinished and failed pictures before a new reservation. The caller holds the student's lock. Upkeep erases the
 * files.
 */
export async function removeUnreadyAvatars(tx: Transaction, studentId: Id, now: Date): Promise<void> {
  await removeFiles(tx, sql`${avatarsOf(studentId)} AND status <> 'ready'`, now);
}

/**
 * Removes the earlier picture. After this call, the same transaction sets the new picture to `ready`. Maintenance later erases the earlier
 * picture from the bucket. The function locks the student before the files (ENG-6).
 */
export async function replaceAvatar(
  tx: Transaction,
  { studentId, mediaId, key }: { studentId: Id; mediaId: Id; key: string },
  now: Date,
): Promise<void> {
  await setAvatar(tx, studentId, key);
  await removeFiles(tx, sql`${avatarsOf(studentId)} AND status = 'ready' AND id <> ${mediaId}`, now);
}

/**
 * Removes a student's pictures, including an unfinished picture. The function may be repeated.
 * @throws DomainError not_found (the student was removed)
 */
export async function deleteAvatar(
  deps: MediaDeps,
  { clubId, studentId }: Required<MediaOwner>,
  now: Date,
): Promise<void> {
  const removed = await deps.db.transaction(async (tx) => {
    await lockStudent(tx, clubId, studentId);
    const files = await tx.rows<{ id: Id }>(avatarsOf(studentId));
    await removeFiles(tx, avatarsOf(studentId), now);
    await setAvatar(tx, studentId, null);
    return files;
  });
  for (const { id } of removed) await eraseImmediately(deps, id, now);
}
