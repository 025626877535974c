/** Lets administrators change enrollments. Each change runs in its own transaction and returns the changed enrollment. */
import type { RecordOf } from '../../../contract/contract.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import type { FactOptions } from '../../../platform/engine/facts.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { instantOf } from '../../../platform/core/time/instants.ts';
import type { DatabaseDeps, VaultDeps } from '../../deps.ts';
import { lockForClub } from '../../identity/accounts/accounts.ts';
import {
  changeEnd,
  grantByHand,
  moveToCohort,
  restoreAccess,
  revokeAccess,
  type EnrollmentRow,
} from './enrollments.ts';
import { readEnrollment } from './listing.ts';

type EnrollmentRecord = RecordOf<'Enrollment'>;

/**
 * Grants access for an administrator. If the account is only a pending sign-up, the grant confirms the account. The account then counts as
 * a student of the club, and the student gets an invitation (DEC-62).
 * @throws DomainError not_found (no such student, delivery or cohort), limit_reached, delivery_archived, invalid_request, already_enrolled
 */
export async function grantEnrollment(
  deps: VaultDeps,
  clubId: Id,
  input: Parameters<typeof grantByHand>[2],
  now: Date,
): Promise<EnrollmentRecord> {
  return changeAndRead(deps, clubId, now, (tx) => grantAndConfirm(tx, deps.vault, clubId, input, now));
}

/**
 * Grants access inside a transaction that has not locked a student yet, or that locked the club's count of students first.
 * @param options the priority of the fact and of the invitation
 * @throws DomainError as `grantEnrollment`
 */
export async function grantAndConfirm(
  tx: Transaction,
  vault: Vault,
  clubId: Id,
  input: Parameters<typeof grantByHand>[2],
  now: Date,
  options: Pick<FactOptions, 'priority'> = {},
): Promise<EnrollmentRow> {
  await lockForClub(tx, vault, { clubId, studentId: input.student_id, invited: true, ...options }, now);
  return grantByHand(tx, clubId, input, now, options);
}

/** @throws DomainError not_found */
export async function revokeEnrollment(
  deps: DatabaseDeps,
  clubId: Id,
  enrollmentId: Id,
  now: Date,
): Promise<EnrollmentRecord> {
  return changeAndRead(deps, clubId, now, (tx) => revokeAccess(tx, clubId, enrollmentId, 'revocation', now));
}

/** @throws DomainError not_found, enrollment_not_revoked, already_enrolled */
export async function restoreEnrollment(
  deps: DatabaseDeps,
  clubId: Id,
  enrollmentId: Id,
  now: Date,
): Promise<EnrollmentRecord> {
  return changeAndRead(deps, clubId, now, (tx) => restoreAccess(tx, clubId, enrollmentId, now));
}

/** @throws DomainError not_found (no such enrollment or cohort), enrollment_revoked */
export async function moveEnrollment(
  deps: DatabaseDeps,
  clubId: Id,
  enrollmentId: Id,
  cohortId: Id,
  now: Date,
): Promise<EnrollmentRecord> {
  return changeAndRead(deps, clubId, now, (tx) => moveToCohort(tx, clubId, enrollmentId, cohortId.toLowerCase(), now));
}

/**
 * @param end the new end of the access; absent if the access has no end
 * @throws DomainError not_found, enrollment_revoked, invalid_request, already_enrolled
 */
export async function setEnrollmentEnd(
  deps: DatabaseDeps,
  clubId: Id,
  enrollmentId: Id,
  end: string | undefined,
  now: Date,
): Promise<EnrollmentRecord> {
  const endsAt = end === undefined ? null : instantOf(end, 'ends_at');
  return changeAndRead(deps, clubId, now, (tx) => changeEnd(tx, clubId, enrollmentId, endsAt, now));
}

/** Revokes the access and hides the enrollment. @throws DomainError not_found */
export async function removeEnrollment({ db }: DatabaseDeps, clubId: Id, enrollmentId: Id, now: Date): Promise<void> {
  await db.transaction((tx) => revokeAccess(tx, clubId, enrollmentId, 'removal', now));
}

async function changeAndRead(
  { db }: DatabaseDeps,
  clubId: Id,
  now: Date,
  change: (tx: Transaction) => Promise<EnrollmentRow>,
): Promise<EnrollmentRecord> {
  return db.transaction(async (tx) => {
    const { id } = await change(tx);
    return readEnrollment(tx, clubId, id, now);
  });
}
