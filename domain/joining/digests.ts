/**
 * Switches the daily mail of spaces off and on for all memberships of a student (CAMP-45, COMM-17). This module uses only the tables of the
 * community, and none of its code.
 */
import type { Id } from '../../platform/core/ids.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../platform/infra/postgres/sql.ts';

/**
 * Returns an SQL condition that is true if the student has unsubscribed from the daily mail of all spaces. The choice also applies to
 * spaces that the student joins later.
 */
export const hasLeftDigests = (studentId: Id | Sql): Sql => sql`EXISTS (
  SELECT FROM students leaver JOIN mail_suppressions suppression
      ON suppression.club_id = leaver.club_id AND suppression.address_key = leaver.email_key
   WHERE leaver.id = ${studentId} AND suppression.left_digests_at IS NOT NULL)`;

/** @returns whether the club has a space that is not archived. A club without such a space sends no daily mail */
export async function hasSpaces(db: Queries, clubId: Id): Promise<boolean> {
  const space = await db.one(
    sql`SELECT 1 FROM community_spaces WHERE club_id = ${clubId} AND archived_at IS NULL LIMIT 1`,
  );
  return space !== undefined;
}

/**
 * Switches the daily mail off for all spaces of a student, and marks the memberships for which it was on. The function locks the student.
 */
export async function stopDigests(tx: Transaction, studentId: Id): Promise<void> {
  await lockStudent(tx, studentId);
  await tx.run(
    sql`UPDATE community_memberships SET digest = false, digest_left = true WHERE student_id = ${studentId} AND digest`,
  );
}

/** Switches the daily mail on again for the marked memberships. Locks the student. */
export async function resumeDigests(tx: Transaction, studentId: Id): Promise<void> {
  await lockStudent(tx, studentId);
  await tx.run(sql`UPDATE community_memberships SET digest = true, digest_left = false
    WHERE student_id = ${studentId} AND digest_left AND left_at IS NULL AND banned_at IS NULL`);
}

/** Locks the student's row. A transaction that changes memberships must do this first (ENG-6). */
async function lockStudent(tx: Transaction, studentId: Id): Promise<void> {
  await tx.run(sql`SELECT FROM students WHERE id = ${studentId} FOR NO KEY UPDATE`);
}
