/**
 * A student's access to deliveries: the one place where enrollments change, each change with its fact (specification:
 * Catalog, `access.*`). Every function first holds the student's row, so that the changes of one student come one after another.
 */
import type { Transaction } from '../core/database.ts';
import { DomainError, notFound } from '../core/errors.ts';
import { newId, type Id } from '../core/ids.ts';
import { recordFact, type FactDetails } from '../facts/facts.ts';
import type { EventType } from '../facts/catalogue.policy.ts';
import { holdStudent } from '../identity/accounts.ts';
import {
  changeOfEnd,
  periodOf,
  type EnrollmentSource,
  type EnrollmentTimes,
  type RevocationReason,
} from './enrollment.policy.ts';

/** An enrollment with what is shown of its delivery. */
export interface Enrollment extends EnrollmentTimes {
  id: Id;
  clubId: Id;
  studentId: Id;
  deliveryId: Id;
  deliveryName: string;
  cohortId: Id | null;
  source: EnrollmentSource;
  /** The purchase or the subscription that it is due to. */
  originId: Id | null;
  revokedReason: RevocationReason | null;
  createdAt: Date;
}

export const enrollmentColumns = `enrollment.id, enrollment.club_id AS "clubId", enrollment.student_id AS "studentId",
  enrollment.delivery_id AS "deliveryId", delivery.name AS "deliveryName", enrollment.cohort_id AS "cohortId", enrollment.source,
  enrollment.origin_id AS "originId", enrollment.starts_at AS "startsAt", enrollment.ends_at AS "endsAt",
  enrollment.revoked_at AS "revokedAt", enrollment.revoked_reason AS "revokedReason", enrollment.created_at AS "createdAt"`;

export const enrollmentsWithDelivery = `enrollments enrollment JOIN access_deliveries delivery ON delivery.id = enrollment.delivery_id`;

export interface Grant {
  clubId: Id;
  studentId: Id;
  deliveryId: Id;
  source: EnrollmentSource;
  /** The purchase or the subscription, where one of them is the source. */
  originId?: Id | undefined;
  /** Absent: the delivery's own. */
  cohortId?: Id | undefined;
  /** Absent: with the cohort, but not before now. */
  startsAt?: Date | undefined;
  /** Absent: by the delivery's days or the cohort; null: no end. */
  endsAt?: Date | null | undefined;
}

export interface Granted {
  enrollment: Enrollment;
  /** False where the student had it already: nothing changed, and no fact was recorded. */
  fresh: boolean;
}

/**
 * Gives access and records `access.granted`. What a student has from elsewhere than a sale is not given twice; a sale's
 * own enrollment is, once a purchase or subscription and delivery.
 * @throws DomainError not_found (student, delivery or cohort), invalid_request (an end that is not after the beginning)
 */
export async function grantAccess(tx: Transaction, grant: Grant, now: Date): Promise<Granted> {
  await holdStudent(tx, grant.clubId, grant.studentId);
  const standing = await findStanding(tx, grant);
  if (standing && (grant.originId !== undefined || !hasEnded(standing, now)))
    return { enrollment: standing, fresh: false };

  const { cohortId, ...period } = await termsOf(tx, grant, now);
  if (standing) await supersede(tx, standing.id, now);
  const id = newId();
  await tx.query(
    `INSERT INTO enrollments (id, club_id, student_id, delivery_id, cohort_id, source, origin_id, starts_at, ends_at, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)`,
    [
      id,
      grant.clubId,
      grant.studentId,
      grant.deliveryId,
      cohortId,
      grant.source,
      grant.originId ?? null,
      period.startsAt,
      period.endsAt,
      now,
    ],
  );
  const enrollment = await findEnrollment(tx, grant.clubId, id);
  await record(tx, 'access.granted', enrollment, now);
  return { enrollment, fresh: true };
}

async function findStanding(
  tx: Transaction,
  grant: Pick<Grant, 'clubId' | 'studentId' | 'deliveryId' | 'originId'>,
): Promise<Enrollment | undefined> {
  const which =
    grant.originId === undefined
      ? `enrollment.origin_id IS NULL AND enrollment.revoked_at IS NULL AND enrollment.superseded_at IS NULL AND enrollment.student_id = $3`
      : `enrollment.origin_id = $3`;
  const [standing] = await tx.query<Enrollment[]>(
    `SELECT ${enrollmentColumns} FROM ${enrollmentsWithDelivery}
      WHERE enrollment.club_id = $1 AND enrollment.delivery_id = $2 AND ${which}`,
    [grant.clubId, grant.deliveryId, grant.originId ?? grant.studentId],
  );
  return standing;
}

function hasEnded({ endsAt }: EnrollmentTimes, now: Date): boolean {
  return endsAt !== null && endsAt <= now;
}

async function supersede(tx: Transaction, enrollmentId: Id, now: Date): Promise<void> {
  await tx.query(`UPDATE enrollments SET superseded_at = $2, updated_at = $2 WHERE id = $1`, [enrollmentId, now]);
}

/** The cohort, the beginning and the end of a new enrollment. @throws DomainError not_found, invalid_request */
async function termsOf(
  tx: Transaction,
  grant: Grant,
  now: Date,
): Promise<{ cohortId: Id | null; startsAt: Date; endsAt: Date | null }> {
  const [delivery] = await tx.query<{ accessDays: number | null; courseId: Id | null; cohortId: Id | null }[]>(
    `SELECT access_days AS "accessDays", course_id AS "courseId", cohort_id AS "cohortId"
       FROM access_deliveries WHERE id = $1 AND club_id = $2 FOR SHARE`,
    [grant.deliveryId, grant.clubId],
  );
  if (!delivery) throw notFound('delivery');
  const cohortId = grant.cohortId ?? delivery.cohortId;
  const cohort = cohortId === null ? undefined : await findCohort(tx, cohortId, delivery.courseId);
  const period = periodOf(grant, delivery, cohort, now);
  refuseEmptyPeriod(period.startsAt, period.endsAt);
  return { cohortId, ...period };
}

/** @throws DomainError not_found for a cohort of another course */
async function findCohort(
  tx: Transaction,
  cohortId: Id,
  courseId: Id | null,
): Promise<{ startsAt: Date | null; endsAt: Date | null }> {
  const [cohort] = await tx.query<{ startsAt: Date | null; endsAt: Date | null }[]>(
    `SELECT starts_at AS "startsAt", ends_at AS "endsAt" FROM cohorts WHERE id = $1 AND course_id = $2`,
    [cohortId, courseId],
  );
  if (!cohort) throw notFound('cohort');
  return cohort;
}

function refuseEmptyPeriod(startsAt: Date, endsAt: Date | null): void {
  if (endsAt !== null && endsAt <= startsAt)
    throw new DomainError('invalid_request', 'ends_at must be after starts_at.');
}

/** @throws DomainError not_found, also for an enrollment that was removed */
export async function findEnrollment(tx: Transaction, clubId: Id, enrollmentId: Id): Promise<Enrollment> {
  const [enrollment] = await tx.query<Enrollment[]>(
    `SELECT ${enrollmentColumns} FROM ${enrollmentsWithDelivery}
      WHERE enrollment.id = $1 AND enrollment.club_id = $2 AND enrollment.revoked_reason IS DISTINCT FROM 'removal'`,
    [enrollmentId, clubId],
  );
  if (!enrollment) throw notFound('enrollment');
  return enrollment;
}

/** Finds it and holds its student's row; what is returned was read after. @throws DomainError not_found */
async function holdEnrollment(tx: Transaction, clubId: Id, enrollmentId: Id): Promise<Enrollment> {
  const { studentId } = await findEnrollment(tx, clubId, enrollmentId);
  await holdStudent(tx, clubId, studentId);
  return findEnrollment(tx, clubId, enrollmentId);
}

/**
 * Takes the access and records `access.revoked`; `removal` hides the enrollment as well. Revoking once more changes
 * nothing, but a revoked one can be removed, without a further fact.
 * @throws DomainError not_found
 */
export async function revokeAccess(
  tx: Transaction,
  clubId: Id,
  enrollmentId: Id,
  reason: RevocationReason,
  now: Date,
): Promise<Enrollment> {
  const before = await holdEnrollment(tx, clubId, enrollmentId);
  if (before.revokedAt !== null && reason !== 'removal') return before;
  const revokedAt = before.revokedAt ?? now;
  await tx.query(`UPDATE enrollments SET revoked_at = $2, revoked_reason = $3, updated_at = $4 WHERE id = $1`, [
    enrollmentId,
    revokedAt,
    reason,
    now,
  ]);
  const after: Enrollment = { ...before, revokedAt, revokedReason: reason };
  if (before.revokedAt === null) await record(tx, 'access.revoked', after, now);
  return after;
}

/**
 * Undoes a revocation and records `access.restored`; beginning and end stay what they were.
 * @throws DomainError not_found, enrollment_not_revoked, already_enrolled (the student has the delivery anew)
 */
export async function restoreAccess(tx: Transaction, clubId: Id, enrollmentId: Id, now: Date): Promise<Enrollment> {
  const before = await holdEnrollment(tx, clubId, enrollmentId);
  if (before.revokedAt === null) throw new DomainError('enrollment_not_revoked', 'The enrollment is not revoked.');
  if (before.originId === null) {
    const standing = await findStanding(tx, { ...before, originId: undefined });
    if (standing && !hasEnded(standing, now)) throw alreadyEnrolled();
    if (standing) await supersede(tx, standing.id, now);
  }
  await tx.query(
    `UPDATE enrollments SET revoked_at = NULL, revoked_reason = NULL, superseded_at = NULL, updated_at = $2 WHERE id = $1`,
    [enrollmentId, now],
  );
  const after: Enrollment = { ...before, revokedAt: null, revokedReason: null };
  await record(tx, 'access.restored', after, now);
  return after;
}

export const alreadyEnrolled = () =>
  new DomainError('already_enrolled', 'The student has access to this delivery already.');

/**
 * Moves the end and records `access.extended` or `access.shortened`; the same end is no change.
 * @param endsAt null for an access without an end
 * @throws DomainError not_found, enrollment_revoked, invalid_request (an end that is not after the beginning)
 */
export async function changeEnd(
  tx: Transaction,
  clubId: Id,
  enrollmentId: Id,
  endsAt: Date | null,
  now: Date,
): Promise<Enrollment> {
  const before = await holdEnrollment(tx, clubId, enrollmentId);
  refuseRevoked(before);
  const change = changeOfEnd(before.endsAt, endsAt);
  if (change === undefined) return before;
  refuseEmptyPeriod(before.startsAt, endsAt);
  await tx.query(`UPDATE enrollments SET ends_at = $2, updated_at = $3 WHERE id = $1`, [enrollmentId, endsAt, now]);
  const after: Enrollment = { ...before, endsAt };
  const details = before.endsAt === null ? undefined : { previousEndsAt: before.endsAt.toISOString() };
  await record(tx, change, after, now, details);
  return after;
}

/**
 * Moves the enrollment to another cohort of its course and records `access.moved`; its dates stay.
 * @throws DomainError not_found (enrollment or cohort), enrollment_revoked
 */
export async function moveToCohort(
  tx: Transaction,
  clubId: Id,
  enrollmentId: Id,
  cohortId: Id,
  now: Date,
): Promise<Enrollment> {
  const before = await holdEnrollment(tx, clubId, enrollmentId);
  refuseRevoked(before);
  const [delivery] = await tx.query<{ courseId: Id | null }[]>(
    `SELECT course_id AS "courseId" FROM access_deliveries WHERE id = $1`,
    [before.deliveryId],
  );
  await findCohort(tx, cohortId, delivery?.courseId ?? null);
  if (cohortId === before.cohortId) return before;
  await tx.query(`UPDATE enrollments SET cohort_id = $2, updated_at = $3 WHERE id = $1`, [enrollmentId, cohortId, now]);
  const after: Enrollment = { ...before, cohortId };
  await record(
    tx,
    'access.moved',
    after,
    now,
    before.cohortId === null ? undefined : { previousCohortId: before.cohortId },
  );
  return after;
}

function refuseRevoked({ revokedAt }: Enrollment): void {
  if (revokedAt !== null) throw new DomainError('enrollment_revoked', 'The enrollment is revoked: restore it first.');
}

async function record(
  tx: Transaction,
  type: EventType,
  { clubId, studentId, id }: Enrollment,
  now: Date,
  details?: FactDetails,
): Promise<void> {
  await recordFact(tx, { clubId, type, studentId, subjectId: id, occurredAt: now, ...(details && { details }) });
}

/** A student who is removed has no access any more; of their enrollments only ids and dates are left, and nobody is told. */
export async function hideEnrollmentsOf(tx: Transaction, studentId: Id, now: Date): Promise<void> {
  await tx.query(
    `UPDATE enrollments SET revoked_at = coalesce(revoked_at, $2), revoked_reason = 'removal', updated_at = $2 WHERE student_id = $1`,
    [studentId, now],
  );
}

/**
 * The condition under which a student has access to a course at a time: an enrollment of one of its deliveries.
 * @param course @param student @param now SQL expressions, such as `course.id` and `$1`
 */
export function hasAccessToCourse({ course, student, now }: { course: string; student: string; now: string }): string {
  return `EXISTS (
    SELECT FROM enrollments enrollment JOIN access_deliveries delivery ON delivery.id = enrollment.delivery_id
     WHERE enrollment.student_id = ${student} AND delivery.course_id = ${course} AND enrollment.revoked_at IS NULL
       AND enrollment.starts_at <= ${now} AND (enrollment.ends_at IS NULL OR enrollment.ends_at > ${now}))`;
}

/** Gives whoever has just signed up the club's free deliveries (specification: Catalog, free delivery). */
export async function grantFreeDeliveries(tx: Transaction, clubId: Id, studentId: Id, now: Date): Promise<void> {
  const free = await tx.query<{ id: Id }[]>(
    `SELECT id FROM access_deliveries WHERE club_id = $1 AND free AND archived_at IS NULL ORDER BY created_at, id`,
    [clubId],
  );
  for (const { id } of free) await grantAccess(tx, { clubId, studentId, deliveryId: id, source: 'free' }, now);
}
