/** Students' accounts as the other contexts need them: held while something of theirs changes, found or opened for somebody. */
import { lockPlaces, takePlaces } from '../billing/allowances.ts';
import { StaleRead, type Transaction } from '../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../platform/infra/postgres/sql.ts';
import { notFound } from '../../platform/core/errors.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import type { Vault } from '../../platform/infra/vault.ts';
import { foldEmail, tidyName } from '../../platform/core/text.policy.ts';
import { recordFact } from '../../platform/engine/facts.ts';
import { requestMail } from '../mail/requests.ts';

/**
 * Locks the student's row for the rest of the transaction: first in the lock order (ENG-6). Facts about a student are
 * written under it, one change after another.
 * @throws DomainError not_found, also for a student of another club and a removed one
 */
export async function lockStudent(
  tx: Transaction,
  clubId: Id,
  studentId: Id,
): Promise<{ name: string; email: string }> {
  const student = await tx.one<{ name: string; email: string }>(
    sql`SELECT name, email FROM students WHERE id = ${studentId} AND club_id = ${clubId} AND removed_at IS NULL FOR NO KEY UPDATE`,
  );
  if (!student) throw notFound('student');
  return student;
}

/** How an account is opened that its owner did not ask for. */
export interface NewAccount {
  name: string;
  email: string;
  /** Whether the owner is mailed an invitation to confirm the address. */
  invited: boolean;
}

/**
 * Finds the student of an address and holds the row, or opens an account with `student.created` and the invitation
 * (EVT-1). For a transaction that holds no student yet: the club's count, which
 * somebody new needs, comes before (docs/explanation/architecture.md#locks).
 * @throws DomainError limit_reached (the plan has no place for another student)
 * @throws StaleRead (the account came or went since a look without a lock)
 */
export async function findOrOpenAccount(
  tx: Transaction,
  vault: Vault,
  clubId: Id,
  account: NewAccount,
  now: Date,
): Promise<{ studentId: Id; created: boolean }> {
  const email = foldEmail(account.email);
  const ofAddress = sql`SELECT id FROM students WHERE club_id = ${clubId} AND email = ${email}`;
  const find = async (statement: Sql) => (await tx.one<{ id: Id }>(statement))?.id;
  const places = (await find(ofAddress)) === undefined ? await lockPlaces(tx, clubId, 1) : undefined;
  const known = await find(sql`${ofAddress} FOR NO KEY UPDATE`);
  if (known !== undefined) return { studentId: known, created: false };
  if (!places) throw new StaleRead();

  const created = await tx.one<{
    id: Id;
  }>(sql`INSERT INTO students (id, club_id, name, email, created_at) VALUES (${newId()}, ${clubId}, ${tidyName(account.name)}, ${email}, ${now})
     ON CONFLICT (club_id, email) DO NOTHING RETURNING id`);
  // Somebody was given the address by a correction: nobody is added by others while the count is held.
  if (!created) throw new StaleRead();
  await takePlaces(tx, clubId, places, now);
  await recordFact(tx, { clubId, type: 'student.created', studentId: created.id, occurredAt: now });
  if (account.invited) {
    const recipient = { studentId: created.id };
    await requestMail(tx, vault, { template: 'student_invitation', clubId, recipient, email }, now);
  }
  return { studentId: created.id, created: true };
}
