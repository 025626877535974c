/** Files of students that are in nothing yet: what they are sent with takes them, and gives them back (ASG-9, COMM-15). */
import type { MediaPurpose } from '../../../entities/media/values.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import { unusedUntil } from '../erasure/erasure.ts';
import type { MediaOwner } from '../media.ts';
import { RefusalToPerson } from '../../language/refusal.ts';

/** What students send files with. */
type SentPurpose = Extract<MediaPurpose, 'assignment' | 'post'>;

/**
 * The files that something takes, which are not erased as unsent any more. The caller holds the student: nobody else takes files of
 * theirs but what erases unsent ones; it finds here that one is sent, or was first.
 * @returns their ids, in lower case, in the order in which they are named
 * @throws DomainError invalid_file: one is unknown, not ready, removed, sent already, for something else, somebody else's, or named twice
 */
export async function keepSentFiles(
  tx: Transaction,
  { clubId, studentId }: Required<MediaOwner>,
  purpose: SentPurpose,
  fileIds: readonly Id[],
): Promise<Id[]> {
  const asked = fileIds.map((id) => id.toLowerCase());
  if (new Set(asked).size < asked.length) throw new DomainError('invalid_file', 'file_ids names a file twice.');
  const kept = await tx.run(sql`
    UPDATE media SET erases_at = NULL
     WHERE id = ANY (${asked}::uuid[]) AND club_id = ${clubId} AND owner_id = ${studentId} AND purpose = ${purpose}
       AND status = 'ready' AND removed_at IS NULL AND erases_at IS NOT NULL`);
  if (kept < asked.length)
    throw new RefusalToPerson('invalid_file', 'refusal.file_not_ready', {
      technical: 'file_ids names a file that is not yours, not ready, or sent already.',
    });
  return asked;
}

/** Makes files unsent again: they go some days later unless they are sent once more. @param which selects their ids */
export async function releaseFiles(tx: Transaction, purpose: SentPurpose, which: Sql, now: Date): Promise<void> {
  await tx.run(sql`
    UPDATE media SET erases_at = ${unusedUntil(purpose, now)} WHERE id IN (${which}) AND removed_at IS NULL`);
}
