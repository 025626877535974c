/** Students' accounts as the other contexts need them: held while something of theirs changes, found or opened for somebody. */
import { holdPlaces, takePlaces } from '../billing/allowances.ts';
import type { Transaction } from '../core/database.ts';
import { notFound } from '../core/errors.ts';
import { newId, type Id } from '../core/ids.ts';
import type { Vault } from '../core/secrets.ts';
import { foldEmail, tidyName } from '../core/text.policy.ts';
import { recordFact } from '../facts/facts.ts';
import { requestMail } from '../mail/requests.ts';

/**
 * Holds the student's row for the rest of the transaction: first in the order of DESIGN §1, rule 6. Facts about a student are
 * written under it, one change after another.
 * @throws DomainError not_found, also for a student of another club and a removed one
 */
export async function holdStudent(
  tx: Transaction,
  clubId: Id,
  studentId: Id,
): Promise<{ name: string; email: string }> {
  const [student] = await tx.query<{ name: string; email: string }[]>(
    `SELECT name, email FROM students WHERE id = $1 AND club_id = $2 AND removed_at IS NULL FOR NO KEY UPDATE`,
    [studentId, clubId],
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
 * (specification: Catalog: purchase, invite, import).
 * @throws DomainError limit_reached (the plan has no place for another student)
 */
export async function findOrOpenAccount(
  tx: Transaction,
  vault: Vault,
  clubId: Id,
  account: NewAccount,
  now: Date,
): Promise<{ studentId: Id; created: boolean }> {
  const email = foldEmail(account.email);
  const [known] = await tx.query<{ id: Id }[]>(
    `SELECT id FROM students WHERE club_id = $1 AND email = $2 FOR NO KEY UPDATE`,
    [clubId, email],
  );
  if (known) return { studentId: known.id, created: false };

  const places = await holdPlaces(tx, clubId, 1);
  const [created] = await tx.query<{ id: Id }[]>(
    `INSERT INTO students (id, club_id, name, email, created_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (club_id, email) DO NOTHING RETURNING id`,
    [newId(), clubId, tidyName(account.name), email, now],
  );
  // Opened by somebody else between the two statements.
  if (!created) return findOrOpenAccount(tx, vault, clubId, account, now);
  await takePlaces(tx, clubId, places, now);
  await recordFact(tx, { clubId, type: 'student.created', studentId: created.id, occurredAt: now });
  if (account.invited) {
    const recipient = { studentId: created.id };
    await requestMail(tx, vault, { template: 'student_invitation', clubId, recipient, email }, now);
  }
  return { studentId: created.id, created: true };
}
