/** Locks many students of a club for one act on all of them. The number of statements does not grow with the number of students. */
import { lockStudentCount } from '../../billing/allowances.ts';
import { StaleRead, type Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { pendingSignUp } from './pending-sign-ups.ts';

/**
 * Finds students by id or by folded address, and takes shared locks, so that none of them is removed before the transaction ends.
 * @returns the students of the club that were found, each once, in the order of their ids
 */
export async function findListedStudents(
  tx: Transaction,
  clubId: Id,
  { ids, emails }: { ids: readonly Id[]; emails: readonly string[] },
): Promise<{ id: Id; email: string | null }[]> {
  return tx.rows<{ id: Id; email: string | null }>(sql`
    SELECT id, email FROM students
     WHERE id IN (SELECT id FROM students WHERE club_id = ${clubId} AND email = ANY (${emails}::text[])
                  UNION SELECT unnest(${ids}::uuid[]))
       AND club_id = ${clubId} AND removed_at IS NULL
     ORDER BY id FOR SHARE`);
}

/**
 * Locks students for changes that follow one after another. If a change may confirm a pending sign-up, the club's count of students is
 * locked first (docs/explanation/architecture.md#locks). The transaction must not have locked a student yet.
 * @returns the ids of the students who were not removed
 * @throws StaleRead (a student became pending between the reads)
 */
export async function lockListedStudents(
  tx: Transaction,
  clubId: Id,
  ids: readonly Id[],
  { confirms }: { confirms: boolean },
): Promise<ReadonlySet<Id>> {
  const pending =
    confirms &&
    (await tx.one(
      sql`SELECT FROM students WHERE id = ANY (${ids}::uuid[]) AND club_id = ${clubId} AND ${pendingSignUp} LIMIT 1`,
    )) !== undefined;
  if (pending) await lockStudentCount(tx, clubId);
  const students = await tx.rows<{ id: Id; isPending: boolean }>(sql`
    SELECT id, ${pendingSignUp} AS "isPending" FROM students
     WHERE id = ANY (${ids}::uuid[]) AND club_id = ${clubId} AND removed_at IS NULL ORDER BY id FOR NO KEY UPDATE`);
  if (confirms && !pending && students.some(({ isPending }) => isPending)) throw new StaleRead();
  return new Set(students.map(({ id }) => id));
}
