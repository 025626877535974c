/** Students as administrators change them: create, correct, remove. Each may concern every context. */
import { Student } from '../../entities/identity/student.ts';
import type { Role } from '../../entities/clubs/values.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { findDelivery } from '../access/deliveries/deliveries.ts';
import { grantAccess } from '../access/enrollments/enrollments.ts';
import { noteAddressLeft } from '../access/imports/removals.ts';
import { violates } from '../../platform/infra/postgres/errors.ts';
import { addressKeyOf } from '../../platform/infra/address-keys.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { contextsInLockOrder } from '../contexts.ts';
import type { VaultDeps } from '../deps.ts';
import { foldEmail, tidyName } from '../../platform/core/text.policy.ts';
import { recordFact } from '../../platform/engine/facts.ts';
import { requestMail } from '../mail/requests.ts';
import { findOrOpenAccount, lockStudent } from '../identity/accounts.ts';
import { presentStudent } from '../identity/student-identity.ts';
import { getStudent, readStudent } from '../identity/students.ts';

const emailTaken = () => new DomainError('email_taken', 'Another student of this club has this e-mail.');

/**
 * Opens an account for somebody, mails the invitation to confirm it, and gives the deliveries that they are invited to.
 * @throws DomainError not_found (delivery), limit_reached, email_taken, delivery_archived
 */
export async function createStudent(
  { db, vault }: VaultDeps,
  clubId: Id,
  input: { name: string; email: string; delivery_ids?: readonly Id[] },
  now: Date,
): Promise<RecordOf<'Student'>> {
  return db.transaction(async (tx) => {
    // Before it is looked whose the e-mail is: 404 comes before 409.
    for (const deliveryId of input.delivery_ids ?? []) await findDelivery(tx, clubId, deliveryId);
    const { studentId, created } = await findOrOpenAccount(tx, vault, clubId, { ...input, invited: true }, now);
    if (!created) throw emailTaken();
    for (const deliveryId of input.delivery_ids ?? [])
      await grantAccess(tx, { clubId, studentId, deliveryId, source: 'invite' }, now);
    return presentStudent(await getStudent(tx, studentId));
  });
}

/** Whose mailbox an account belongs to decides whose account it is: a student's address is no matter of content (DEC-60). */
const mayChangeAddresses: ReadonlySet<Role> = new Set(['owner', 'admin']);

/**
 * Corrects name or e-mail. A new e-mail must be confirmed again: the password, what was mailed to the old one and the
 * sessions that it opened end, for they may be a stranger's. The old address is told. A correction that changes nothing is
 * no fact.
 * @param by what the administrator who corrects is in the club
 * @throws DomainError not_found, role_not_permitted (a new address, by an editor), email_taken
 */
export async function updateStudent(
  { db, vault }: VaultDeps,
  clubId: Id,
  studentId: Id,
  input: { name?: string; email?: string },
  by: Role,
  now: Date,
): Promise<RecordOf<'Student'>> {
  return db.transaction(async (tx) => {
    const before = await lockStudent(tx, clubId, studentId);
    const name = input.name === undefined ? before.name : tidyName(input.name);
    const email = input.email === undefined ? before.email : foldEmail(input.email);
    if (name === before.name && email === before.email) return readStudent(tx, clubId, studentId);

    const moved = email !== before.email;
    if (moved && !mayChangeAddresses.has(by))
      throw new DomainError('role_not_permitted', 'Only an owner or an admin may change the address of a student.');
    await tx
      .query(
        `UPDATE students SET name = $2, email = $3, verified_at = CASE WHEN $4 THEN NULL ELSE verified_at END,
                password_hash = CASE WHEN $4 THEN NULL ELSE password_hash END
          WHERE id = $1`,
        [studentId, name, email, moved],
      )
      .catch((error: unknown) => {
        throw violates(error, 'students_club_email') ? emailTaken() : error;
      });
    if (moved) {
      for (const { changeEmail } of contextsInLockOrder)
        await changeEmail?.(tx, vault, { clubId, studentId, before: before.email, after: email });
      const recipient = { studentId };
      await requestMail(tx, vault, { template: 'student_verify_email', clubId, recipient, email }, now);
      const former = { template: 'student_address_changed', clubId, recipient, email: before.email } as const;
      await requestMail(tx, vault, former, now);
    }
    await recordFact(tx, { clubId, type: 'student.updated', studentId, occurredAt: now });
    return readStudent(tx, clubId, studentId);
  });
}

/**
 * Removes a student: the row stays as an id without a name; sessions, tokens and unsent mails end; messages about the
 * student lose their bodies; an import that is still open does not bring them back; `student.removed` alone goes out
 * (DEL-9).
 * @throws DomainError not_found
 */
export async function removeStudent({ db, vault }: VaultDeps, clubId: Id, studentId: Id, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    const { email } = await lockStudent(tx, clubId, studentId);
    // Before the row loses its address, so before the contexts erase: an open import must not bring the student back.
    await noteAddressLeft(tx, vault, { clubId, studentId, email });
    await tx.manager.update(
      Student,
      { id: studentId },
      { name: 'Removed student', email: null, passwordHash: null, avatarUrl: null, verifiedAt: null, removedAt: now },
    );
    const removed = { clubId, studentId, email, addressKey: addressKeyOf(vault, email) };
    for (const { eraseStudent } of contextsInLockOrder) await eraseStudent?.(tx, removed, now);
    await recordFact(tx, { clubId, type: 'student.removed', studentId, occurredAt: now });
  });
}
