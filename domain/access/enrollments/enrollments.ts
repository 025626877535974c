/**
 * Changes a student's access to deliveries, one enrollment at a time, and records the facts (EVT-4 to EVT-9). No code outside this folder
 * changes an enrollment. Every function first locks the student's row, so that the changes of one student run one after another.
 */
import { Enrollment } from '../../../entities/access/enrollment.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { FactOptions } from '../../../platform/engine/facts.ts';
import { optionalInstant } from '../../../platform/core/time/instants.ts';
import { lockStudent } from '../../identity/accounts/accounts.ts';
import { lockCohortForShare } from './cohorts.ts';
import { grantable, lockDeliveryForShare } from '../deliveries/deliveries.ts';
import type { EnrollmentSource, RevocationReason } from '../../../entities/access/values.ts';
import { changeOfEnd, periodOf } from './enrollments.policy.ts';
import {
  findEnrollment,
  findStanding,
  hasEnded,
  lockEnrollment,
  recordAccess,
  supersede,
  type EnrollmentRow,
} from './rows.ts';

export type { EnrollmentRow } from './rows.ts';

export interface Grant {
  clubId: Id;
  studentId: Id;
  deliveryId: Id;
  source: EnrollmentSource;
  /** The purchase or the subscription that is the source of the access; absent for any other source. */
  originId?: Id | undefined;
  /** The requested cohort. Absent if the cohort of the delivery applies. */
  cohortId?: Id | undefined;
  /** The requested beginning. Absent if the access begins with the cohort, but not before now. */
  startsAt?: Date | undefined;
  /** The requested end. Absent if the days of the delivery or the cohort decide the end. Null for an access without an end. */
  endsAt?: Date | null | undefined;
}

export interface GrantResult {
  enrollment: EnrollmentRow;
  /** False if the student had the access already, so that nothing has changed. */
  fresh: boolean;
}

/**
 * Grants access and records `access.granted`. Each purchase and each subscription has its own enrollment for each delivery. All other
 * sources together have one current enrollment for each delivery. Until this enrollment ends, a second grant changes nothing.
 * @throws DomainError not_found (no such student, delivery or cohort), delivery_archived (unless the source is a sale), invalid_request
 *   (the end is not after the beginning)
 */
export async function grantAccess(
  tx: Transaction,
  grant: Grant,
  now: Date,
  options: FactOptions = {},
): Promise<GrantResult> {
  await lockStudent(tx, grant.clubId, grant.studentId);
  // An unknown cohort must lead to 404, even if the student already has the access (409). So the cohort is checked first.
  if (grant.cohortId !== undefined) await lockCohortOfForShare(tx, grant.clubId, grant.deliveryId, grant.cohortId);
  const standing = await findStanding(tx, { ...grant, originId: grant.originId ?? null });
  if (standing && (grant.originId !== undefined || !hasEnded(standing, now)))
    return { enrollment: standing, fresh: false };

  const { cohortId, ...period } = await termsOf(tx, grant, now);
  if (standing) await supersede(tx, standing.id, now);
  const id = newId();
  await tx.manager.insert(Enrollment, {
    id,
    clubId: grant.clubId,
    studentId: grant.studentId,
    deliveryId: grant.deliveryId,
    cohortId,
    source: grant.source,
    originId: grant.originId ?? null,
    startsAt: period.startsAt,
    endsAt: period.endsAt,
    createdAt: now,
    updatedAt: now,
  });
  const enrollment = await findEnrollment(tx, grant.clubId, id);
  await recordAccess(tx, 'access.granted', enrollment, now, options);
  return { enrollment, fresh: true };
}

/**
 * Grants access for an administrator. If the student has the access already, the administrator gets an error.
 * @throws DomainError already_enrolled, and the errors of `grantAccess`
 */
export async function grantByHand(
  tx: Transaction,
  clubId: Id,
  input: { student_id: Id; delivery_id: Id; cohort_id?: Id; starts_at?: string; ends_at?: string },
  now: Date,
  options: FactOptions = {},
): Promise<EnrollmentRow> {
  const { enrollment, fresh } = await grantAccess(
    tx,
    {
      clubId,
      studentId: input.student_id,
      deliveryId: input.delivery_id,
      source: 'grant',
      cohortId: input.cohort_id,
      startsAt: optionalInstant(input.starts_at, 'starts_at'),
      endsAt: optionalInstant(input.ends_at, 'ends_at'),
    },
    now,
    options,
  );
  if (!fresh) throw alreadyEnrolled();
  return enrollment;
}

/** @returns the cohort, the beginning and the end of a new enrollment @throws DomainError not_found, delivery_archived, invalid_request */
export async function termsOf(
  tx: Transaction,
  grant: Omit<Grant, 'studentId' | 'source'>,
  now: Date,
): Promise<{ cohortId: Id | null; startsAt: Date; endsAt: Date | null }> {
  const delivery = await lockDeliveryForShare(tx, grant.clubId, grant.deliveryId);
  const cohortId = grant.cohortId ?? delivery.cohortId;
  const cohort = cohortId === null ? undefined : await lockCohortForShare(tx, delivery.courseId, cohortId);
  // A student who bought an archived delivery still gets it, because the platform sells it until the club stops the sale there.
  if (delivery.archivedAt !== null && grant.originId === undefined)
    throw new DomainError('delivery_archived', 'The delivery is archived and cannot be granted.');
  const period = periodOf(grant, delivery, cohort, now);
  requireNonEmptyPeriod(period.startsAt, period.endsAt);
  return { cohortId, ...period };
}

function requireNonEmptyPeriod(startsAt: Date, endsAt: Date | null): void {
  if (endsAt !== null && endsAt <= startsAt)
    throw new DomainError('invalid_request', '`ends_at` must be after `starts_at`.');
}

/**
 * Revokes the access and records `access.revoked`. The reason `removal` also hides the enrollment. A second revocation changes nothing. A
 * revoked enrollment can still be removed. This removal records no further fact.
 * @throws DomainError not_found
 */
export async function revokeAccess(
  tx: Transaction,
  clubId: Id,
  enrollmentId: Id,
  reason: RevocationReason,
  now: Date,
  options: FactOptions = {},
): Promise<EnrollmentRow> {
  const before = await lockEnrollment(tx, clubId, enrollmentId);
  if (before.revokedAt !== null && reason !== 'removal') return before;
  const revokedAt = before.revokedAt ?? now;
  await tx.manager.update(Enrollment, { id: enrollmentId }, { revokedAt, revokedReason: reason, updatedAt: now });
  const after: EnrollmentRow = { ...before, revokedAt, revokedReason: reason };
  if (before.revokedAt === null) await recordAccess(tx, 'access.revoked', after, now, options);
  return after;
}

/**
 * Revokes each enrollment that gives, or will give, the student access to the delivery, from sales too (DEC-216).
 * @returns the number of enrollments that were revoked
 * @throws DomainError not_found (no such student)
 */
export async function revokeDelivery(
  tx: Transaction,
  { clubId, studentId, deliveryId }: { clubId: Id; studentId: Id; deliveryId: Id },
  now: Date,
  options: FactOptions = {},
): Promise<number> {
  await lockStudent(tx, clubId, studentId);
  const open = await tx.rows<{ id: Id }>(sql`
    SELECT id FROM enrollments
     WHERE student_id = ${studentId} AND delivery_id = ${deliveryId} AND club_id = ${clubId}
       AND revoked_at IS NULL AND superseded_at IS NULL AND (ends_at IS NULL OR ends_at > ${now})
     ORDER BY created_at, id`);
  for (const { id } of open) await revokeAccess(tx, clubId, id, 'revocation', now, options);
  return open.length;
}

/**
 * Undoes a revocation and records `access.restored`. The beginning and the end of the access do not change.
 * @throws DomainError not_found, enrollment_not_revoked, already_enrolled (the student has a newer enrollment of the delivery)
 */
export async function restoreAccess(tx: Transaction, clubId: Id, enrollmentId: Id, now: Date): Promise<EnrollmentRow> {
  const before = await lockEnrollment(tx, clubId, enrollmentId);
  if (before.revokedAt === null) throw new DomainError('enrollment_not_revoked', 'The enrollment is not revoked.');
  await makeCurrent(tx, before, now);
  await tx.manager.update(Enrollment, { id: enrollmentId }, { revokedAt: null, revokedReason: null, updatedAt: now });
  const after: EnrollmentRow = { ...before, revokedAt: null, revokedReason: null };
  await recordAccess(tx, 'access.restored', after, now);
  return after;
}

/**
 * Except for sales, a student has at most one current enrollment of each delivery. The given enrollment replaces an enrollment that has
 * ended.
 * @throws DomainError already_enrolled
 */
async function makeCurrent(tx: Transaction, enrollment: EnrollmentRow, now: Date): Promise<void> {
  if (enrollment.originId !== null) return;
  const standing = await findStanding(tx, enrollment);
  if (standing?.id === enrollment.id) return;
  if (standing && !hasEnded(standing, now)) throw alreadyEnrolled();
  if (standing) await supersede(tx, standing.id, now);
  await tx.manager.update(Enrollment, { id: enrollment.id }, { supersededAt: null });
}

const alreadyEnrolled = () => new DomainError('already_enrolled', 'The student has access to this delivery already.');

/**
 * Changes the end and records `access.extended` or `access.shortened`. Nothing changes if the new end equals the current end.
 * @param endsAt the new end; null for access without an end
 * @throws DomainError not_found, enrollment_revoked, invalid_request (the end is not after the beginning), already_enrolled (the access had
 *   ended, and the student has a newer enrollment of the delivery)
 */
export async function changeEnd(
  tx: Transaction,
  clubId: Id,
  enrollmentId: Id,
  endsAt: Date | null,
  now: Date,
): Promise<EnrollmentRow> {
  const before = await lockEnrollment(tx, clubId, enrollmentId);
  requireNotRevoked(before);
  const change = changeOfEnd(before.endsAt, endsAt);
  if (change === undefined) return before;
  requireNonEmptyPeriod(before.startsAt, endsAt);
  if (!hasEnded({ ...before, endsAt }, now)) await makeCurrent(tx, before, now);
  await tx.manager.update(Enrollment, { id: before.id }, { endsAt, updatedAt: now });
  const after: EnrollmentRow = { ...before, endsAt };
  const details = before.endsAt === null ? undefined : { previousEndsAt: before.endsAt.toISOString() };
  await recordAccess(tx, change, after, now, details && { details });
  return after;
}

/**
 * Moves the enrollment to a different cohort of the same course and records `access.moved`. The beginning and the end of the access stay
 * the same.
 * @throws DomainError not_found (no such enrollment or cohort), enrollment_revoked
 */
export async function moveToCohort(
  tx: Transaction,
  clubId: Id,
  enrollmentId: Id,
  cohortId: Id,
  now: Date,
): Promise<EnrollmentRow> {
  const before = await lockEnrollment(tx, clubId, enrollmentId);
  await lockCohortOfForShare(tx, clubId, before.deliveryId, cohortId);
  requireNotRevoked(before);
  if (cohortId === before.cohortId) return before;
  await tx.manager.update(Enrollment, { id: enrollmentId }, { cohortId, updatedAt: now });
  const after: EnrollmentRow = { ...before, cohortId };
  await recordAccess(
    tx,
    'access.moved',
    after,
    now,
    before.cohortId === null ? {} : { details: { previousCohortId: before.cohortId } },
  );
  return after;
}

/** @throws DomainError not_found (no such delivery, or a cohort of another course) */
async function lockCohortOfForShare(tx: Transaction, clubId: Id, deliveryId: Id, cohortId: Id): Promise<void> {
  const { courseId } = await lockDeliveryForShare(tx, clubId, deliveryId);
  await lockCohortForShare(tx, courseId, cohortId);
}

function requireNotRevoked({ revokedAt }: EnrollmentRow): void {
  if (revokedAt !== null) throw new DomainError('enrollment_revoked', 'The enrollment is revoked. Restore it first.');
}

/** Ends all access of a removed student. Only the ids and dates of the enrollments remain, and no event is recorded. */
export async function hideEnrollmentsOf(tx: Transaction, studentId: Id, now: Date): Promise<void> {
  await tx.run(
    sql`UPDATE enrollments SET revoked_at = coalesce(revoked_at, ${now}), revoked_reason = 'removal', updated_at = ${now} WHERE student_id = ${studentId}`,
  );
}

/** Grants the club's free deliveries to a new student (EVT-4). */
export async function grantFreeDeliveries(tx: Transaction, clubId: Id, studentId: Id, now: Date): Promise<void> {
  const free = await tx.rows<{ id: Id }>(
    sql`SELECT id FROM access_deliveries delivery
         WHERE club_id = ${clubId} AND free AND ${grantable(now)} ORDER BY created_at, id FOR SHARE`,
  );
  for (const { id } of free) await grantAccess(tx, { clubId, studentId, deliveryId: id, source: 'free' }, now);
}
