/**
 * Pictures of students (MED-28). A student has at most one that is ready, which everybody in the club sees, and one on its way. The last
 * one that was reserved wins: its reservation removes what was on its way before, and it replaces the one that is shown once it is ready.
 */
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { lockStudent } from '../../identity/accounts.ts';
import { setAvatar } from '../../identity/avatars.ts';
import { eraseAtOnce, removeFiles } from '../erasure/erasure.ts';
import type { MediaDeps, MediaOwner } from '../media.ts';

const avatarsOf = (studentId: Id): Sql =>
  sql`SELECT id FROM media WHERE owner_id = ${studentId} AND purpose = 'avatar' AND removed_at IS NULL`;

/** Removes what a new reservation makes pointless: what is on its way, or has failed. The student is held. Upkeep erases the files. */
export async function removeUnreadyAvatars(tx: Transaction, studentId: Id, now: Date): Promise<void> {
  await removeFiles(tx, sql`${avatarsOf(studentId)} AND status <> 'ready'`, now);
}

/**
 * In the transaction that makes the file ready, before it does: the picture that was shown goes, and upkeep erases it. Holds the student
 * before the files (ENG-6).
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
 * Takes a student's picture away, with one on its way. Safe to repeat.
 * @throws DomainError not_found (the student was removed meanwhile)
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
  for (const { id } of removed) await eraseAtOnce(deps, id, now);
}
