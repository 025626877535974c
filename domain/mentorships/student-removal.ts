/** Removes a student from mentorships: cancels the coming sessions and deletes the student's texts. */
import type { Id } from '../../platform/core/ids.ts';
import { wake } from '../../platform/engine/wakes.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';

/** The caller holds the lock of the student. The mentor gets a mail about the canceled sessions without the student's name. */
export async function purgeStudentFromMentorships(tx: Transaction, studentId: Id, now: Date): Promise<void> {
  const canceled = await tx.rows<{ id: Id; clubId: Id }>(sql`
    UPDATE mentorship_sessions
       SET status = 'canceled', sequence = sequence + 1, canceled_at = ${now}, looks_at = ${now}, updated_at = ${now}
     WHERE student_id = ${studentId} AND status = 'booked' AND starts_at > ${now}
 RETURNING id, club_id AS "clubId"`);
  await tx.run(sql`
    UPDATE mentorship_sessions
       SET agenda = '', cancel_reason = '', rating = NULL, rating_comment = '', rated_at = NULL
     WHERE student_id = ${studentId}`);
  await wake(tx, 'mentorshipSession', canceled, now);
}
