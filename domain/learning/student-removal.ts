/** What a student's removal takes out of the classroom. */
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import type { Id } from '../../platform/core/ids.ts';

/**
 * Deletes what the student completed and said. Facts that are not told yet are not told any more, so nobody reads these
 * rows again; and a removed student completes nothing a second time. The student's row is held by the caller.
 */
export async function purgeStudentFromLearning(tx: Transaction, studentId: Id): Promise<void> {
  for (const table of ['lesson_comments', 'lesson_progress', 'course_completions'])
    await tx.query(`DELETE FROM ${table} WHERE student_id = $1`, [studentId]);
}
