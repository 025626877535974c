/** What `access.*` say: the enrollment as it is when the body is assembled, and its delivery. */
import type { EventBodyOf, RecordOf } from '../../../../contract/contract.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import type { EnrollmentSource, RevocationReason } from '../../../../entities/access/values.ts';
import { enrollmentStatus } from '../../../access/enrollments/enrollments.policy.ts';
import { hasAccessToDelivery } from '../../../access/enrollments/entitlement.ts';
import { oneRow, type DataReader } from './reading.ts';
import { studentRecord } from './student.ts';

interface EnrollmentRow {
  id: Id;
  source: EnrollmentSource;
  cohortId: Id | null;
  startsAt: Date;
  endsAt: Date | null;
  revokedAt: Date | null;
  revokedReason: RevocationReason | null;
  deliveryId: Id;
  deliveryName: string;
  opens: RecordOf<'EventOpening'>;
  hasAccess: boolean;
}

type AccessData = EventBodyOf<'access.granted'>['data'];

const accessData: DataReader<AccessData> = async (tx, fact, student, now) => {
  const row = oneRow(
    await tx.query<EnrollmentRow[]>(
      `SELECT enrollment.id, enrollment.source, enrollment.cohort_id AS "cohortId", enrollment.starts_at AS "startsAt",
              enrollment.ends_at AS "endsAt", enrollment.revoked_at AS "revokedAt", enrollment.revoked_reason AS "revokedReason",
              delivery.id AS "deliveryId", delivery.name AS "deliveryName",
              jsonb_strip_nulls(jsonb_build_object(
                'kind', delivery.kind, 'course_id', delivery.course_id, 'agent_id', delivery.agent_id)) AS opens,
              ${hasAccessToDelivery({ delivery: 'delivery.id', student: 'enrollment.student_id', now: '$3' })} AS "hasAccess"
         FROM enrollments enrollment JOIN access_deliveries delivery ON delivery.id = enrollment.delivery_id
        WHERE enrollment.id = $1 AND enrollment.club_id = $2`,
      [fact.subjectId, fact.clubId, now],
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
