/** Reads enrollments while their student's row is locked, finds the current enrollment, and records facts about enrollments. */
import { AccessDelivery } from '../../../entities/access/access-delivery.ts';
import { Enrollment } from '../../../entities/access/enrollment.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { recordFact, type FactOptions } from '../../../platform/engine/facts.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import { lockStudent } from '../../identity/accounts/accounts.ts';
import { followAccess } from '../../joining/joining.ts';
import { judgeCoursesOfAccess } from '../../watches/completions.ts';
import type { EnrollmentTimes } from './enrollments.policy.ts';

/** Selects from `enrollmentsWithDelivery`. */
export const enrollmentColumns = columns(
  Enrollment,
  [
    'id',
    'clubId',
    'studentId',
    'deliveryId',
    'cohortId',
    'source',
    'originId',
    'startsAt',
    'endsAt',
    'revokedAt',
    'revokedReason',
    'createdAt',
  ],
  'enrollment',
).and(columns(AccessDelivery, { deliveryName: 'name' }, 'delivery'));
export type EnrollmentRow = RowOf<typeof enrollmentColumns>;

export const enrollmentsWithDelivery = sql`enrollments enrollment JOIN access_deliveries delivery ON delivery.id = enrollment.delivery_id`;

/** @throws DomainError not_found (also for a removed enrollment) */
export async function findEnrollment(db: Queries, clubId: Id, enrollmentId: Id): Promise<EnrollmentRow> {
  const enrollment = await db.one<EnrollmentRow>(sql`SELECT ${enrollmentColumns} FROM ${enrollmentsWithDelivery}
      WHERE enrollment.id = ${enrollmentId} AND enrollment.club_id = ${clubId} AND enrollment.revoked_reason IS DISTINCT FROM 'removal'`);
  if (!enrollment) throw notFound('enrollment');
  return enrollment;
}

/** Locks the student's row, then reads the enrollment. @throws DomainError not_found */
export async function lockEnrollment(tx: Transaction, clubId: Id, enrollmentId: Id): Promise<EnrollmentRow> {
  const { studentId } = await findEnrollment(tx, clubId, enrollmentId);
  await lockStudent(tx, clubId, studentId);
  return findEnrollment(tx, clubId, enrollmentId);
}

/**
 * Finds the enrollment to which a new grant belongs. A grant of a sale belongs to the enrollment of this sale. Any other grant belongs to
 * the student's current enrollment of the delivery.
 */
export async function findStanding(
  db: Queries,
  of: Pick<EnrollmentRow, 'clubId' | 'studentId' | 'deliveryId' | 'originId'>,
): Promise<EnrollmentRow | undefined> {
  const which =
    of.originId === null
      ? sql`enrollment.origin_id IS NULL AND enrollment.revoked_at IS NULL AND enrollment.superseded_at IS NULL
          AND enrollment.student_id = ${of.studentId}`
      : sql`enrollment.origin_id = ${of.originId}`;
  return db.one<EnrollmentRow>(
    sql`SELECT ${enrollmentColumns} FROM ${enrollmentsWithDelivery}
         WHERE enrollment.club_id = ${of.clubId} AND enrollment.delivery_id = ${of.deliveryId} AND ${which}`,
  );
}

/** True after the end of the enrollment, also for a revoked enrollment. */
export function hasEnded({ endsAt }: Pick<EnrollmentTimes, 'endsAt'>, now: Date): boolean {
  return endsAt !== null && endsAt <= now;
}

/** Marks an ended enrollment as replaced by a new enrollment. */
export async function supersede(tx: Transaction, enrollmentId: Id, now: Date): Promise<void> {
  await tx.manager.update(Enrollment, { id: enrollmentId }, { supersededAt: now, updatedAt: now });
}

/**
 * Records a fact `access.*` about an enrollment. The function also wakes the timer of a subscription's access. It updates the memberships
 * of spaces and the completions of courses, because they depend on the access.
 * @param options the priority and the details of the fact
 */
export async function recordAccess(
  tx: Transaction,
  type: EventType,
  { clubId, studentId, id, source, originId }: EnrollmentRow,
  now: Date,
  options: FactOptions = {},
): Promise<void> {
  if (source === 'subscription' && originId !== null && type !== 'access.granted')
    await wake(tx, 'subscriptionEnd', [{ id: originId, clubId }], now);
  await followAccess(tx, { clubId, studentIds: [studentId] }, now);
  await judgeCoursesOfAccess(tx, { clubId, studentIds: [studentId] }, now);
  await recordFact(tx, { clubId, type, studentId, subjectId: id, occurredAt: now, ...options });
}
