/** Locks, finds and opens students' accounts for other contexts. */
import type { Priority } from '../../../entities/facts/values.ts';
import type { AccountOpener } from '../../../entities/identity/values.ts';
import { takeSeats } from '../../billing/allowances.ts';
import { StaleRead, type Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { addressKeyOf } from '../../../platform/infra/keys/address-keys.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { foldEmail, tidyName } from '../../../platform/core/text/text.policy.ts';
import { recordFact } from '../../../platform/engine/facts.ts';
import { followAccess } from '../../joining/joining.ts';
import { requestMail } from '../../mail/transactional/requests.ts';
import { lockAccount, takeOver } from './pending-sign-ups.ts';

/**
 * Locks the student's row for the rest of the transaction, before all other rows (ENG-6). Facts about a student are written only under this
 * lock, so that changes of one student run one after another.
 * @throws DomainError not_found (also for a removed student and a student of another club)
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

/** An account that the club or a sale opens without a request of the owner. */
export interface NewAccount {
  name: string;
  email: string;
  openedBy: Exclude<AccountOpener, 'sign_up'>;
  /** Whether the owner gets an invitation mail to confirm the address. */
  invited: boolean;
}

/**
 * Finds the student of an address and locks the row, or opens an account with `student.created` and an invitation (EVT-1). A pending
 * sign-up becomes an account of the club, and its owner gets an invitation (DEC-62). Opening an account locks the club's count of students,
 * so the transaction must not have locked a student yet (docs/explanation/architecture.md#locks).
 * @throws DomainError limit_reached (the plan has no seat for another student)
 * @throws StaleRead if the account was created or deleted after it was read without a lock
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
  const { account, seats } = await lockAccount(tx, which, { orNewIn: clubId });
  if (account && !account.isPending) return { studentId: account.id, created: false, takenOver: false };

  const studentId = account?.id ?? (await insertStudent(tx, vault, { clubId, name, email, openedBy }, now));
  if (seats) await takeSeats(tx, clubId, seats, now);
  if (account) await takeOver(tx, [studentId], openedBy, now);
  else await recordFact(tx, { clubId, type: 'student.created', studentId, occurredAt: now });
  if (invited) await invite(tx, vault, { clubId, studentId, email }, now);
  return { studentId, created: !account, takenOver: account !== undefined };
}

/** @throws StaleRead if a sign-up or a correction has taken the address after the caller read it */
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
 * Locks a student before an action of the club, such as a manual grant. A pending sign-up becomes an account of the club, and its owner is
 * invited. The transaction must not have locked a student yet.
 * @throws DomainError not_found, when the student does not exist, was removed, or belongs to another club; limit_reached, when the plan has
 * no free seat; StaleRead, when the account has changed after the first read
 */
export async function lockForClub(
  tx: Transaction,
  vault: Vault,
  { clubId, studentId, invited, priority }: { clubId: Id; studentId: Id; invited: boolean; priority?: Priority },
  now: Date,
): Promise<void> {
  const { account, seats } = await lockAccount(tx, sql`club_id = ${clubId} AND id = ${studentId}`, {});
  if (!account) throw notFound('student');
  if (!account.isPending) return;
  if (seats) await takeSeats(tx, clubId, seats, now);
  await takeOver(tx, [studentId], 'club', now);
  if (invited)
    await invite(
      tx,
      vault,
      { clubId, studentId, email: account.email, ...(priority !== undefined && { priority }) },
      now,
    );
}

async function invite(
  tx: Transaction,
  vault: Vault,
  { clubId, studentId, ...mail }: { clubId: Id; studentId: Id; email: string; priority?: Priority },
  now: Date,
): Promise<void> {
  await requestMail(tx, vault, { template: 'student_invitation', clubId, recipient: { studentId }, ...mail }, now);
}
