/** Files of the library that an assignment shows with its prompt, and a review gives to the student (MED-14). */
import type { RecordOf } from '../../contract/contract.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { ObjectStore } from '../../platform/infra/object-store.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { presentUsed } from '../media/shown.ts';
import { setUses } from '../media/uses.ts';

/** What shows files: an assignment, or a review. */
type Kind = 'assignment' | 'assignment_review';

/** In place of those that it had. The caller holds the place. @throws DomainError not_found (a file), media_archived */
export async function attach(
  tx: Transaction,
  clubId: Id,
  place: { kind: Kind; id: Id },
  mediaIds: readonly Id[],
): Promise<void> {
  await setUses(tx, clubId, place, mediaIds).catch((error: unknown) => {
    throw error instanceof DomainError && error.code === 'not_found' ? notFound('file') : error;
  });
}

/** Those of the reviews of a student who is removed. The caller holds the student. */
export async function detachReviewsOf(tx: Transaction, studentId: Id): Promise<void> {
  await tx.run(sql`
    DELETE FROM media_uses use USING assignment_reviews review, assignment_attempts attempt, assignment_submissions submission
     WHERE use.kind = 'assignment_review' AND use.place_id = review.id AND attempt.id = review.attempt_id
       AND submission.id = attempt.submission_id AND submission.student_id = ${studentId}`);
}

/** @returns by place: its files, the oldest first, with signed addresses; a place without any is not in it */
export async function presentAttached(
  db: Queries,
  storage: ObjectStore,
  kind: Kind,
  placeIds: readonly Id[],
): Promise<Map<Id, RecordOf<'Media'>[]>> {
  const attached = await presentUsed(db, storage, kind, placeIds);
  for (const files of attached.values())
    files.sort((one, other) => (one.created_at + one.id < other.created_at + other.id ? -1 : 1));
  return attached;
}
