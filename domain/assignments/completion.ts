/** Completes a lesson for a student, if the lesson's assignments allow it (ASG-13). */
import type { RecordOf } from '../../contract/contract.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { AddressedDeps } from '../deps.ts';
import type { Reader } from '../identity/student-ref.ts';
import * as completion from '../learning/courses/completion.ts';
import { RefusalToPerson } from '../language/refusal.ts';

/** @throws DomainError not_found, assignment_open. If the function throws, it has written nothing */
export function completeLesson(
  deps: Pick<AddressedDeps, 'db' | 'publicUrl'>,
  reader: Reader,
  publicId: string,
  now: Date,
): Promise<RecordOf<'LessonCompletion'>> {
  return completion.completeLesson(deps, reader, publicId, now, requireApproved);
}

/**
 * The caller holds the locks of the student and of the lesson's course, so submissions and assignments do not change during the check.
 * @throws DomainError assignment_open
 */
async function requireApproved(tx: Transaction, reader: Reader, lessonId: Id): Promise<void> {
  const open = await tx.one(sql`
    SELECT 1 FROM assignments assignment
     WHERE assignment.lesson_id = ${lessonId} AND assignment.required AND assignment.removed_at IS NULL AND NOT EXISTS (
       SELECT FROM assignment_submissions WHERE assignment_id = assignment.id AND student_id = ${reader.id} AND status = 'approved')
     LIMIT 1`);
  if (open) throw new RefusalToPerson('assignment_open', 'refusal.assignment_open');
}
