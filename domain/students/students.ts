/** Creates, corrects and removes students. Each change may affect every context. */
import { removedStudentName, Student } from '../../entities/identity/student.ts';
import type { Role } from '../../entities/clubs/values.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { findDelivery } from '../access/deliveries/deliveries.ts';
import { grantAccess } from '../access/enrollments/enrollments.ts';
import { noteAddressLeft } from '../access/imports/removals.ts';
import { giveClaimsBack } from '../access/links/claims.ts';
import { StaleRead, type Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { violates } from '../../platform/infra/postgres/errors.ts';
import { addressKeyOf } from '../../platform/infra/keys/address-keys.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { plainName } from '../../platform/core/text/names.ts';
import { recordErasure } from '../erasures/erasures.ts';
import { contextsInLockOrder } from '../contexts.ts';
import type { StudentDeps, VaultDeps } from '../deps.ts';
import { requireOffered } from '../language/chosen.ts';
import { foldEmail } from '../../platform/core/text/text.policy.ts';
import { recordFact } from '../../platform/engine/facts.ts';
import { requestMail } from '../mail/transactional/requests.ts';
import { findOrOpenAccount, lockForClub, lockStudent } from '../identity/accounts/accounts.ts';
import { pendingSignUp } from '../identity/accounts/pending-sign-ups.ts';
import { pendingSignUpRules } from '../identity/accounts/pending-sign-ups.policy.ts';
import { presentStudent } from '../identity/student-identity.ts';
import { findStudent, getStudent, readStudent } from '../identity/students.ts';

const emailTaken = () => new DomainError('email_taken', 'Another student of this club has this e-mail address.');

/**
 * Opens an account for a person, mails an invitation, and grants its deliveries. A pending sign-up with the address becomes this account,
 * with the new name (DEC-62).
 * @throws DomainError not_found (no such delivery), limit_reached, email_taken, delivery_archived
 */
export async function createStudent(
  { db, vault, storage }: StudentDeps,
  clubId: Id,
  input: { name: string; email: string; delivery_ids?: readonly Id[] },
  now: Date,
): Promise<RecordOf<'Student'>> {
  return db.transaction(async (tx) => {
    // The deliveries are checked before the address, because the error 404 has priority over the error 409.
    for (const deliveryId of input.delivery_ids ?? []) await findDelivery(tx, clubId, deliveryId);
    const account = { name: plainName(input.name), email: input.email, openedBy: 'club', invited: true } as const;
    const { studentId, created, takenOver } = await findOrOpenAccount(tx, vault, clubId, account, now);
    if (!created && !takenOver) throw emailTaken();
    if (takenOver) await rename(tx, { clubId, studentId, name: account.name }, now);
    for (const deliveryId of input.delivery_ids ?? [])
      await grantAccess(tx, { clubId, studentId, deliveryId, source: 'invite' }, now);
    return presentStudent(await getStudent(tx, studentId), storage);
  });
}

/** Records a fact if the name changes. */
async function rename(
  tx: Transaction,
  { clubId, studentId, name }: { clubId: Id; studentId: Id; name: string },
  now: Date,
): Promise<void> {
  const changedRows = await tx.run(sql`UPDATE students SET name = ${name} WHERE id = ${studentId} AND name <> ${name}`);
  if (changedRows > 0) await recordFact(tx, { clubId, type: 'student.updated', studentId, occurredAt: now });
}

/**
 * Changes the student's own record: the given fields. Another name records a fact, as a correction by an administrator does (SES-2).
 * @throws DomainError invalid_request (a web address in the name, a language that is not offered), unauthenticated (the student was removed)
 */
export async function updateOwnStudent(
  { db, storage }: StudentDeps,
  { id: studentId, clubId }: { id: Id; clubId: Id },
  { name: givenName, language: tag }: RecordOf<'OwnStudentChange'>,
  now: Date,
): Promise<RecordOf<'Student'>> {
  const name = givenName === undefined ? undefined : plainName(givenName);
  const language = tag === undefined ? undefined : requireOffered(tag);
  return db.transaction(async (tx) => {
    await lockStudent(tx, clubId, studentId).catch((error: unknown) => {
      throw error instanceof DomainError
        ? new DomainError('unauthenticated', 'The account was removed meanwhile.')
        : error;
    });
    if (language !== undefined) await tx.manager.update(Student, { id: studentId }, { language });
    if (name !== undefined) await rename(tx, { clubId, studentId, name }, now);
    return presentStudent(await getStudent(tx, studentId), storage);
  });
}

/**
 * A person who reads the mails to a student's address can take over the account. So only these roles may change a student's address. The
 * right to edit content is not enough (DEC-60).
 */
const mayChangeAddresses: ReadonlySet<Role> = new Set(['owner', 'admin']);

/**
 * Corrects the name or the e-mail. A new address must be confirmed again. The password, the mails to the old address and the sign-in
 * sessions may belong to a stranger. So the function deletes the password, cancels these mails and ends the sessions. The old address gets
 * a mail. A correction that changes nothing records no fact.
 * @param by the role of the administrator in the club
 * @throws DomainError not_found, role_not_permitted (an editor wants to change the address), email_taken
 */
export async function updateStudent(
  { db, vault, storage }: StudentDeps,
  clubId: Id,
  studentId: Id,
  input: { name?: string; email?: string },
  by: Role,
  now: Date,
): Promise<RecordOf<'Student'>> {
  return db.transaction(async (tx) => {
    const current = await findStudent(tx, clubId, studentId);
    const moves = input.email !== undefined && foldEmail(input.email) !== current.email;
    if (moves && !mayChangeAddresses.has(by))
      throw new DomainError('role_not_permitted', 'Only an owner or an admin may change the address of a student.');
    // If the club sets the address of a pending sign-up, the sign-up becomes a student of the club. So the removal of old sign-ups does not
    // remove this student.
    if (moves) await lockForClub(tx, vault, { clubId, studentId, invited: false }, now);
    const before = await lockStudent(tx, clubId, studentId);
    const name = input.name === undefined ? before.name : plainName(input.name);
    const email = input.email === undefined ? before.email : foldEmail(input.email);
    if (name === before.name && email === before.email) return readStudent(tx, storage, clubId, studentId);

    const isMoved = email !== before.email;
    if (isMoved && !moves) throw new StaleRead();
    const unconfirmed = { verifiedAt: null, passwordHash: null, openedBy: 'club' } as const;
    await tx.manager
      .update(
        Student,
        { id: studentId },
        { name, email, ...(isMoved && { ...unconfirmed, emailKey: addressKeyOf(vault, email) }) },
      )
      .catch((error: unknown) => {
        throw violates(error, 'students_club_email') ? emailTaken() : error;
      });
    if (isMoved) {
      for (const { changeEmail } of contextsInLockOrder)
        await changeEmail?.(tx, vault, { clubId, studentId, before: before.email, after: email });
      const recipient = { studentId };
      await requestMail(tx, vault, { template: 'student_verify_email', clubId, recipient, email }, now);
      const former = { template: 'student_address_changed', clubId, recipient, email: before.email } as const;
      await requestMail(tx, vault, former, now);
    }
    await recordFact(tx, { clubId, type: 'student.updated', studentId, occurredAt: now });
    return readStudent(tx, storage, clubId, studentId);
  });
}

/**
 * Removes a student. The row stays as an id without a name. Sessions end, tokens and unsent mails are deleted or canceled, and the bodies
 * of webhook messages are deleted. An open import does not create the student again. Afterwards only the event `student.removed` is
 * delivered about this student (DEL-9).
 * @param requestedBy the id of the administrator or the API key that asks; null for the service itself and for commands of operators
 * @throws DomainError not_found
 */
export async function removeStudent(
  deps: VaultDeps,
  clubId: Id,
  studentId: Id,
  now: Date,
  requestedBy: Id | null = null,
): Promise<void> {
  await deps.db.transaction((tx) => removeStudentIn(tx, deps, { clubId, studentId }, requestedBy, now));
}

/**
 * Removes a student like `removeStudent`, in the caller's transaction.
 * @throws DomainError not_found
 */
export async function removeStudentIn(
  tx: Transaction,
  deps: VaultDeps,
  { clubId, studentId }: { clubId: Id; studentId: Id },
  requestedBy: Id | null,
  now: Date,
): Promise<void> {
  const { email } = await lockStudent(tx, clubId, studentId);
  await erase(tx, deps, { clubId, studentId, email }, requestedBy, now);
}

/** The caller holds the lock of the student. */
async function erase(
  tx: Transaction,
  { vault }: VaultDeps,
  student: { clubId: Id; studentId: Id; email: string },
  requestedBy: Id | null,
  now: Date,
): Promise<void> {
  const { clubId, studentId, email } = student;
  // Keeps open imports from creating the student again. Must run while the row still has its address, before the contexts erase their data.
  await noteAddressLeft(tx, vault, student);
  await tx.manager.update(
    Student,
    { id: studentId },
    {
      name: removedStudentName,
      email: null,
      emailKey: null,
      passwordHash: null,
      avatarKey: null,
      language: null,
      verifiedAt: null,
      removedAt: now,
    },
  );
  const removedStudent = { ...student, addressKey: addressKeyOf(vault, email) };
  for (const { eraseStudent } of contextsInLockOrder) await eraseStudent?.(tx, removedStudent, now);
  await recordErasure(tx, { kind: 'student', subjectId: studentId, clubId, requestedBy }, now);
  await recordFact(tx, { clubId, type: 'student.removed', studentId, occurredAt: now });
}

/**
 * Removes sign-ups that were not confirmed within 7 days (DEC-62), each in its own transaction. Also removes their uses of registration
 * links. The function may be repeated, and may run twice at the same time.
 */
export async function removeOldSignUps(
  deps: VaultDeps,
  now: Date,
): Promise<{ rows: { signUpsRemoved: number }; more: boolean }> {
  const { removedAfterMs, removedARound } = pendingSignUpRules;
  const old = sql`removed_at IS NULL AND ${pendingSignUp} AND created_at < ${new Date(now.getTime() - removedAfterMs)}`;
  const oldSignUps = await deps.db.rows<{ id: Id }>(
    sql`SELECT id FROM students WHERE ${old} ORDER BY created_at LIMIT ${removedARound}`,
  );
  let removedSignUps = 0;
  for (const { id } of oldSignUps) {
    removedSignUps += await deps.db.transaction(async (tx) => {
      // The condition is checked again under the lock, because the sign-up may have been confirmed after the first check.
      const student = await tx.one<{ clubId: Id; studentId: Id; email: string }>(
        sql`SELECT club_id AS "clubId", id AS "studentId", email FROM students WHERE id = ${id} AND ${old} FOR NO KEY UPDATE`,
      );
      if (!student) return 0;
      await giveClaimsBack(tx, id);
      await erase(tx, deps, student, null, now);
      return 1;
    });
  }
  return { rows: { signUpsRemoved: removedSignUps }, more: oldSignUps.length === removedARound };
}
