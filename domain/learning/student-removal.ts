/** Removes a student's data from the learning context: certificates, progress, comments, points. */
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../platform/infra/postgres/sql.ts';
import type { Id } from '../../platform/core/ids.ts';
import { purgeStudentFromCertificates } from './certificates/certificates.ts';
import { purgeStudentFromStanding } from './engagement/standing.ts';

/**
 * Withdraws the certificates, and deletes the student's completions, comments and awards. These records are never needed again, because
 * after a removal only the event of the removal is reported. The caller has locked the student's row.
 */
export async function purgeStudentFromLearning(tx: Transaction, studentId: Id, now: Date): Promise<void> {
  await purgeStudentFromCertificates(tx, studentId, now);
  for (const table of ['lesson_comments', 'lesson_progress', 'course_completions'])
    await tx.run(sql`DELETE FROM ${raw(table)} WHERE student_id = ${studentId}`);
  await purgeStudentFromStanding(tx, studentId);
}
