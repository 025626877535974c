/** Students' accounts as the other contexts need them: held while something of theirs changes, found or opened for somebody. */
import type { AccountOpener } from '../../entities/identity/values.ts';
import { takePlaces } from '../billing/allowances.ts';
import { StaleRead, type Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { notFound } from '../../platform/core/errors.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { addressKeyOf } from '../../platform/infra/address-keys.ts';
import type { Vault } from '../../platform/infra/vault.ts';
import { foldEmail, tidyName } from '../../platform/core/text.policy.ts';
import { recordFact } from '../../platform/engine/facts.ts';
import { followAccess } from '../joining/joining.ts';
import { requestMail } from '../mail/requests.ts';
import { lockAccount, takeOver } from './pending-sign-ups.ts';

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
  openedBy: Exclude<AccountOpener, 'sign_up'>;
  /** Whether the owner is mailed an invitation to confirm the address. */
  invited: boolean;
}

/**
 * Finds the student of an address and holds the row, or opens an account with `student.created` and the invitation
 * (EVT-1). A pending sign-up is taken over, and its owner invited (DEC-62). For a transaction that holds no student yet: the
 * club's count, which somebody who does not count yet needs, comes before (docs/explanation/architecture.md#locks).
 * @throws DomainError limit_reached (the plan has no place for another student)
 * @throws StaleRead (the account came or went since a look without a lock)
 */
export async function findOrOpenAccount(
  tx: Transaction,
  vault: Vault,
  clubId: Id,
  { name, openedBy, invited, ...given }: NewAccount,
  now: Date,
): Promise<{ studentId: Id; created: boolean; takenOver: boolean }> {
  const email = foldEmail(given.email);
  const which = sql`club_id = ${clubId} AND email = ${email}`;
  const { account, places } = await lockAccount(tx, which, { orNewIn: clubId });
  if (account && !account.isPending) return { studentId: account.id, created: false, takenOver: false };

  const studentId = account?.id ?? (await insertStudent(tx, vault, { clubId, name, email, openedBy }, now));
  if (places) await takePlaces(tx, clubId, places, now);
  if (account) await takeOver(tx, [studentId], openedBy, now);
  else await recordFact(tx, { clubId, type: 'student.created', studentId, occurredAt: now });
  if (invited) await invite(tx, vault, { clubId, studentId, email }, now);
  return { studentId, created: !account, takenOver: account !== undefined };
}

/** @throws StaleRead: somebody signed up with the address, or was given it by a correction, since the look */
async function insertStudent(
  tx: Transaction,
  vault: Vault,
  { clubId, name, email, openedBy }: Omit<NewAccount, 'invited'> & { clubId: Id },
  now: Date,
): Promise<Id> {
  const created = await tx.one<{ id: Id }>(sql`
    INSERT INTO students (id, club_id, name, email, email_key, opened_by, created_at)
    VALUES (${newId()}, ${clubId}, ${tidyName(name)}, ${email}, ${addressKeyOf(vault, email)}, ${openedBy}, ${now})
    ON CONFLICT (club_id, email) DO NOTHING RETURNING id`);
  if (!created) throw new StaleRead();
  await followAccess(tx, { clubId, studentIds: [created.id] }, now);
  return created.id;
}

/**
 * Holds a student for an act by which the club stands for the account, such as a grant by hand: a pending sign-up is taken
 * over, and its owner invited. For a transaction that holds no student yet.
 * @throws DomainError not_found, also for a student of another club and a removed one; limit_reached; StaleRead
 */
export async function lockForClub(
  tx: Transaction,
  vault: Vault,
  { clubId, studentId, invited }: { clubId: Id; studentId: Id; invited: boolean },
  now: Date,
): Promise<void> {
  const { account, places } = await lockAccount(tx, sql`club_id = ${clubId} AND id = ${studentId}`, {});
  if (!account) throw notFound('student');
  if (!account.isPending) return;
  if (places) await takePlaces(tx, clubId, places, now);
  await takeOver(tx, [studentId], 'club', now);
  if (invited) await invite(tx, vault, { clubId, studentId, email: account.email }, now);
}

async function invite(
  tx: Transaction,
  vault: Vault,
  { clubId, studentId, email }: { clubId: Id; studentId: Id; email: string },
  now: Date,
): Promise<void> {
  await requestMail(tx, vault, { template: 'student_invitation', clubId, recipient: { studentId }, email }, now);
}
