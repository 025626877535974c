/** Removes a student from sales: deletes the bodies of notices, and keeps the amounts and dates of purchases. */
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { Id } from '../../platform/core/ids.ts';
import { wake } from '../../platform/engine/wakes.ts';

/**
 * Deletes the bodies of notices about the student. It finds the notices by their student and by the student's address. The search by
 * address also finds unreadable notices. A notice that still waits for its processing is not processed any more. The caller holds the lock
 * of the student.
 * @param email the address before the removal
 */
export async function purgeStudentFromSales(
  tx: Transaction,
  { clubId, studentId, email }: { clubId: Id; studentId: Id; email: string },
  now: Date,
): Promise<void> {
  const purged = await tx.rows<{ id: Id; stopped: boolean }>(sql`WITH about AS (
       SELECT id, status = 'pending' AS stopped FROM sales_notices
        WHERE student_id = ${studentId} OR (club_id = ${clubId} AND body IS NOT NULL AND addresses @> ARRAY[${email}::text])
        ORDER BY id FOR NO KEY UPDATE)
     UPDATE sales_notices notice
        SET body = NULL, proof = NULL, addresses = '{}', error_path = NULL,
            status = CASE WHEN stopped THEN 'ignored' ELSE status END,
            error_code = CASE WHEN stopped THEN 'student_removed' ELSE error_code END,
            processed_at = CASE WHEN stopped THEN ${now} ELSE processed_at END
       FROM about WHERE notice.id = about.id
  RETURNING notice.id, about.stopped`);
  // The removal revokes the access, so the run of each subscription records when it ended, even without a cancellation.
  const ended = await tx.rows<{ id: Id }>(
    sql`UPDATE subscriptions SET end_looks_at = least(end_looks_at, ${now})
         WHERE student_id = ${studentId} AND (end_looks_at IS NOT NULL OR access_ended_at IS NULL)
     RETURNING id`,
  );
  const stopped = purged.filter((notice) => notice.stopped);
  await wake(
    tx,
    'salesNotice',
    stopped.map(({ id }) => ({ id, clubId })),
    now,
  );
  await wake(
    tx,
    'subscriptionEnd',
    ended.map(({ id }) => ({ id, clubId })),
    now,
  );
}

/**
 * Call this before a student's address is corrected. It assigns notices with the old address to the student, so that a later removal finds
 * them. Notices of other students do not change.
 */
export async function claimNotices(
  tx: Transaction,
  { clubId, studentId, email }: { clubId: Id; studentId: Id; email: string },
): Promise<void> {
  await tx.run(sql`UPDATE sales_notices SET student_id = ${studentId}
      WHERE club_id = ${clubId} AND student_id IS NULL AND body IS NOT NULL AND addresses @> ARRAY[${email}::text]`);
}
