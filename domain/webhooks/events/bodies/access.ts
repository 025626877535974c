/** The data of `access.*` events: the enrollment at the time of the fan-out, and its delivery. */
import type { EventBodyOf, RecordOf } from '../../../../contract/contract.ts';
import { AccessDelivery } from '../../../../entities/access/access-delivery.ts';
import { Enrollment } from '../../../../entities/access/enrollment.ts';
import type { FactDetails } from '../../../../entities/facts/values.ts';
import { columns, sql, type RowOf } from '../../../../platform/infra/postgres/sql.ts';
import { enrollmentStatus } from '../../../access/enrollments/enrollments.policy.ts';
import { hasAccessToDelivery } from '../../../access/enrollments/entitlement.ts';
import { recordsOf, type DataReader } from './reading.ts';
import { studentRecord } from './student.ts';

const enrollmentColumns = columns(
  Enrollment,
  ['id', 'source', 'cohortId', 'startsAt', 'endsAt', 'revokedAt', 'revokedReason'],
  'enrollment',
).and(columns(AccessDelivery, { deliveryId: 'id', deliveryName: 'name' }, 'delivery'));

type AccessData = EventBodyOf<'access.granted'>['data'];

/** @param before gets the details of the fact, and returns the values before the change */
function readerOf<Before extends object>(
  before: (details: FactDetails | null) => Before,
): DataReader<AccessData & Before> {
  return async (tx, subjects, now) => {
    const records = await recordsOf(
      tx,
      subjects,
      enrollmentColumns.and<{ opens: RecordOf<'EventOpening'>; hasAccess: boolean }>(
        sql`jsonb_strip_nulls(jsonb_build_object(
                'kind', delivery.kind, 'course_id', delivery.course_id, 'agent_id', delivery.agent_id,
                'repository_id', delivery.repository_id, 'space_id', delivery.space_id)) AS opens,
              ${hasAccessToDelivery(sql`delivery.id`, sql`enrollment.student_id`, now)} AS "hasAccess"`,
      ),
      sql`JOIN enrollments enrollment ON enrollment.id = fact.subject_id AND enrollment.club_id = fact.club_id
           JOIN access_deliveries delivery ON delivery.id = enrollment.delivery_id`,
    );
    return records.map(({ row, fact, student }) => ({
      enrollment: enrollmentRecord(row, now),
      delivery: { id: row.deliveryId, name: row.deliveryName, opens: row.opens },
      has_access: row.hasAccess,
      ...studentRecord(student),
      ...before(fact.details),
    }));
  };
}

function enrollmentRecord(row: RowOf<typeof enrollmentColumns>, now: Date): RecordOf<'EventEnrollment'> {
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

const accessData = readerOf(() => ({}));

const withPreviousEnd: DataReader<EventBodyOf<'access.extended'>['data']> = readerOf((details) => ({
  ...(details?.previousEndsAt !== undefined && { previous_ends_at: details.previousEndsAt }),
}));

export const accessBodies = {
  'access.granted': accessData,
  'access.revoked': accessData,
  'access.restored': accessData,
  'access.extended': withPreviousEnd,
  'access.shortened': withPreviousEnd,
  'access.moved': readerOf((details) => ({
    ...(details?.previousCohortId !== undefined && { previous_cohort_id: details.previousCohortId }),
  })) satisfies DataReader<EventBodyOf<'access.moved'>['data']>,
};
