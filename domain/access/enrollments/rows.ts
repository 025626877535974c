/** Enrollments in the database: reading them under their student's row, which of them stands, and the facts about them. */
import { Enrollment } from '../../../entities/access/enrollment.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { FactDetails } from '../../../entities/facts/values.ts';
import { recordFact } from '../../../platform/engine/facts.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import { lockStudent } from '../../identity/accounts.ts';
import type { EnrollmentSource, RevocationReason } from '../../../entities/access/values.ts';
import type { EnrollmentTimes } from './enrollments.policy.ts';

/** An enrollment with what is shown of its delivery. */
export interface EnrollmentRow extends EnrollmentTimes {
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

/** @throws DomainError not_found, also for an enrollment that was removed */
export async function findEnrollment(db: Queries, clubId: Id, enrollmentId: Id): Promise<EnrollmentRow> {
  const enrollment =
    await db.one<EnrollmentRow>(sql`SELECT ${raw(enrollmentColumns)} FROM ${raw(enrollmentsWithDelivery)}
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

/** The one that the student has of a delivery without a sale; of a sale, the one that it gave. */
export async function findStanding(
  db: Queries,
  of: Pick<EnrollmentRow, 'clubId' | 'studentId' | 'deliveryId' | 'originId'>,
): Promise<EnrollmentRow | undefined> {
  const which =
    of.originId === null
      ? `enrollment.origin_id IS NULL AND enrollment.revoked_at IS NULL AND enrollment.superseded_at IS NULL AND enrollment.student_id = $3`
      : `enrollment.origin_id = $3`;
  const [standing] = await db.query<EnrollmentRow[]>(
    `SELECT ${enrollmentColumns} FROM ${enrollmentsWithDelivery}
      WHERE enrollment.club_id = $1 AND enrollment.delivery_id = $2 AND ${which}`,
    [of.clubId, of.deliveryId, of.originId ?? of.studentId],
  );
  return standing;
}

/** Whether its end has come; revoked or not. */
export function hasEnded({ endsAt }: Pick<EnrollmentTimes, 'endsAt'>, now: Date): boolean {
  return endsAt !== null && endsAt <= now;
}

/** Another takes its place, which had ended. */
export async function supersede(tx: Transaction, enrollmentId: Id, now: Date): Promise<void> {
  await tx.manager.update(Enrollment, { id: enrollmentId }, { supersededAt: now, updatedAt: now });
}

/** Records what happened to it: `access.*`. A subscription's access has a timer, which looks at every change of it. */
export async function recordAccess(
  tx: Transaction,
  type: EventType,
  { clubId, studentId, id, source, originId }: EnrollmentRow,
  now: Date,
  details?: FactDetails,
): Promise<void> {
  if (source === 'subscription' && originId !== null && type !== 'access.granted')
    await wake(tx, 'subscriptionEnd', [{ id: originId, clubId }], now);
  await recordFact(tx, { clubId, type, studentId, subjectId: id, occurredAt: now, ...(details && { details }) });
}
