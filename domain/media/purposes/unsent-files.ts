/**
 * Files of students that belong to no submission or post yet. When a submission or a post uses such files, they are kept. When the
 * submission or the post is withdrawn, they are unsent again (ASG-9, COMM-15).
 */
import type { MediaPurpose } from '../../../entities/media/values.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import { unusedUntil } from '../erasure/erasure.ts';
import type { MediaOwner } from '../media.ts';
import { RefusalToPerson } from '../../language/refusal.ts';

type SentPurpose = Extract<MediaPurpose, 'assignment' | 'post'>;

/**
 * Keeps the files of a submission or post, so that they are not erased as unsent. The caller holds the student's lock. So only the erasure
 * of unsent files can remove such a file during this transaction. That erasure either commits before this function reads the file, or sees
 * that the file is sent.
 * @returns the ids in lower case, in the order of `fileIds`
 * @throws DomainError invalid_file: a file is unknown, not ready, removed or already sent, has a different purpose or owner, or is named
 * twice
 */
export async function keepSentFiles(
  tx: Transaction,
  { clubId, studentId }: Required<MediaOwner>,
  purpose: SentPurpose,
  fileIds: readonly Id[],
): Promise<Id[]> {
  const ids = fileIds.map((id) => id.toLowerCase());
  if (new Set(ids).size < ids.length) throw new DomainError('invalid_file', 'file_ids names a file twice.');
  const updatedRows = await tx.run(sql`
    UPDATE media SET erases_at = NULL
     WHERE id = ANY (${ids}::uuid[]) AND club_id = ${clubId} AND owner_id = ${studentId} AND purpose = ${purpose}
       AND status = 'ready' AND removed_at IS NULL AND erases_at IS NOT NULL`);
  if (updatedRows < ids.length)
    throw new RefusalToPerson('invalid_file', 'refusal.file_not_ready', {
      technical: 'file_ids names a file that is not yours, not ready or already sent.',
    });
  return ids;
}

/**
 * Makes files unsent again. They are removed after some days, unless the student sends them again.
 * @param which a query for the ids of the files
 */
export async function releaseFiles(tx: Transaction, purpose: SentPurpose, which: Sql, now: Date): Promise<void> {
  await tx.run(sql`
    UPDATE media SET erases_at = ${unusedUntil(purpose, now)} WHERE id IN (${which}) AND removed_at IS NULL`);
}
