/** What `access.*` say: the enrollment as it is when the body is assembled, and its delivery. */
import type { EventBodyOf, RecordOf } from '../../../../contract/contract.ts';
import { AccessDelivery } from '../../../../entities/access/access-delivery.ts';
import { Enrollment } from '../../../../entities/access/enrollment.ts';
import { columns, sql, type RowOf } from '../../../../platform/infra/postgres/sql.ts';
import { enrollmentStatus } from '../../../access/enrollments/enrollments.policy.ts';
import { hasAccessToDelivery } from '../../../access/enrollments/entitlement.ts';
import { oneRow, type DataReader } from './reading.ts';
import { studentRecord } from './student.ts';

const enrollmentColumns = columns(
  Enrollment,
  ['id', 'source', 'cohortId', 'startsAt', 'endsAt', 'revokedAt', 'revokedReason'],
  'enrollment',
).and(columns(AccessDelivery, { deliveryId: 'id', deliveryName: 'name' }, 'delivery'));
type EnrollmentRow = RowOf<typeof enrollmentColumns> & { opens: RecordOf<'EventOpening'>; hasAccess: boolean };

type AccessData = EventBodyOf<'access.granted'>['data'];

const accessData: DataReader<AccessData> = async (tx, fact, student, now) => {
  const row = oneRow(
    await tx.rows<EnrollmentRow>(
      sql`SELECT ${enrollmentColumns}, jsonb_strip_nulls(jsonb_build_object(
                'kind', delivery.kind, 'course_id', delivery.course_id, 'agent_id', delivery.agent_id,
                'repository_id', delivery.repository_id, 'space_id', delivery.space_id)) AS opens,
              ${hasAccessToDelivery(sql`delivery.id`, sql`enrollment.student_id`, now)} AS "hasAccess"
         FROM enrollments enrollment JOIN access_deliveries delivery ON delivery.id = enrollment.delivery_id
        WHERE enrollment.id = ${fact.subjectId} AND enrollment.club_id = ${fact.clubId}`,
    ),
    fact,
  );
  return {
    enrollment: enrollmentRecord(row, now),
    delivery: { id: row.deliveryId, name: row.deliveryName, opens: row.opens },
    has_access: row.hasAccess,
    ...studentRecord(student),
  };
};

function enrollmentRecord(row: EnrollmentRow, now: Date): RecordOf<'EventEnrollment'> {
  return {
    id: row.id,
    status: enrollmentStatus(row, now),
    source: row.source,
    ...(row.cohortId !== null && { cohort_id: row.cohortId }),
    starts_at: row.startsAt.toISOString(),
    ...(row.endsAt !== null && { ends_at: row.endsAt.toISOString() }),
    ...(row.revokedAt !== null && { revoked_at: row.revokedAt.toISOString() }),
    ...(row.revokedReason !== null && { revoked_reason: row.revokedReason }),
  };
}

/** The end before the change. */
const withPreviousEnd: DataReader<EventBodyOf<'access.extended'>['data']> = async (tx, fact, student, now) => ({
  ...(await accessData(tx, fact, student, now)),
  ...(fact.details?.previousEndsAt !== undefined && { previous_ends_at: fact.details.previousEndsAt }),
});

export const accessBodies = {
  'access.granted': accessData,
  'access.revoked': accessData,
  'access.restored': accessData,
  'access.extended': withPreviousEnd,
  'access.shortened': withPreviousEnd,
  'access.moved': (async (tx, fact, student, now) => ({
    ...(await accessData(tx, fact, student, now)),
    ...(fact.details?.previousCohortId !== undefined && { previous_cohort_id: fact.details.previousCohortId }),
  })) satisfies DataReader<EventBodyOf<'access.moved'>['data']>,
};
