/** Attaches library files to the text of an assignment, and to an administrator's review (MED-14). */
import type { RecordOf } from '../../contract/contract.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { presentUsed } from '../media/uses/presentation.ts';
import { setUses } from '../media/uses/uses.ts';

type Kind = 'assignment' | 'assignment_review';

/**
 * Replaces the list of files of a record. The caller holds the lock of the record.
 * @throws DomainError not_found (no such file), media_archived
 */
export async function attach(
  tx: Transaction,
  clubId: Id,
  record: { kind: Kind; id: Id },
  mediaIds: readonly Id[],
): Promise<void> {
  await setUses(tx, clubId, record, mediaIds).catch((error: unknown) => {
    throw error instanceof DomainError && error.code === 'not_found' ? notFound('file') : error;
  });
}

/** Detaches the files from the reviews of a removed student's work. The caller holds the lock of the student. */
export async function detachReviewsOf(tx: Transaction, studentId: Id): Promise<void> {
  await tx.run(sql`
    DELETE FROM media_uses use USING assignment_reviews review, assignment_attempts attempt, assignment_submissions submission
     WHERE use.kind = 'assignment_review' AND use.place_id = review.id AND attempt.id = review.attempt_id
       AND submission.id = attempt.submission_id AND submission.student_id = ${studentId}`);
}

/** @returns for each record, its files with signed URLs, oldest first. The result has no entry for a record without files */
export async function presentAttached(
  db: Queries,
  storage: ObjectStore,
  kind: Kind,
  recordIds: readonly Id[],
): Promise<Map<Id, RecordOf<'Media'>[]>> {
  const attached = await presentUsed(db, storage, kind, recordIds);
  for (const files of attached.values())
    files.sort((one, other) => (one.created_at + one.id < other.created_at + other.id ? -1 : 1));
  return attached;
}
