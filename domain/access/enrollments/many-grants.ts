/** Grants access to many students by the rules of `grantAccess`. The number of statements does not grow with the number of students. */
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { recordFacts } from '../../../platform/engine/facts.ts';
import { Enrollment } from '../../../entities/access/enrollment.ts';
import { bulk } from '../../../entities/facts/values.ts';
import type { EnrollmentSource } from '../../../entities/access/values.ts';
import { followAccess } from '../../joining/joining.ts';
import { judgeCoursesOfAccess } from '../../watches/completions.ts';
import { hasEnded } from './rows.ts';
import { termsOf } from './enrollments.ts';

export interface ManyGrants {
  clubId: Id;
  /** Distinct students whose rows the transaction has locked. */
  studentIds: readonly Id[];
  deliveryIds: readonly Id[];
  /** Sales are not allowed here. All other sources together give a student a delivery only once. */
  source: Exclude<EnrollmentSource, 'purchase' | 'subscription'>;
}

interface Standing {
  id: Id;
  studentId: Id;
  deliveryId: Id;
  endsAt: Date | null;
}

/**
 * Grants each delivery to each student who does not have it, and records `access.granted` for each new enrollment.
 * @returns the number of new enrollments
 * @throws DomainError not_found (no such delivery or cohort), delivery_archived, invalid_request (the end is not after the beginning)
 */
export async function grantToMany(tx: Transaction, grants: ManyGrants, now: Date): Promise<number> {
  const { clubId, studentIds, deliveryIds, source } = grants;
  if (studentIds.length === 0 || deliveryIds.length === 0) return 0;
  const standing = await standingOf(tx, studentIds, deliveryIds);
  const ended = [...standing.values()].filter((enrollment) => hasEnded(enrollment, now));
  await tx.run(
    sql`UPDATE enrollments SET superseded_at = ${now}, updated_at = ${now} WHERE id = ANY (${ended.map(({ id }) => id)})`,
  );

  const newEnrollments = [];
  for (const deliveryId of deliveryIds) {
    const studentsWithout = studentIds.filter((studentId) => {
      const current = standing.get(keyOf({ studentId, deliveryId }));
      return !current || hasEnded(current, now);
    });
    if (studentsWithout.length === 0) continue;
    const terms = await termsOf(tx, { clubId, deliveryId }, now);
    newEnrollments.push(...studentsWithout.map((studentId) => ({ id: newId(), studentId, deliveryId, ...terms })));
  }
  await tx.run(sql`INSERT INTO enrollments (id, club_id, student_id, delivery_id, cohort_id, source, starts_at, ends_at, created_at, updated_at)
     SELECT (one->>'id')::uuid, ${clubId}, (one->>'studentId')::uuid, (one->>'deliveryId')::uuid, (one->>'cohortId')::uuid, ${source},
            (one->>'startsAt')::timestamptz, (one->>'endsAt')::timestamptz, ${now}, ${now}
       FROM jsonb_array_elements(${JSON.stringify(newEnrollments)}::jsonb) AS one`);
  const changed = { clubId, studentIds: [...new Set(newEnrollments.map(({ studentId }) => studentId))] };
  await followAccess(tx, changed, now);
  await judgeCoursesOfAccess(tx, changed, now);
  await recordFacts(
    tx,
    newEnrollments.map(({ id, studentId }) => ({
      clubId,
      type: 'access.granted',
      studentId,
      subjectId: id,
      occurredAt: now,
      priority: bulk,
    })),
  );
  return newEnrollments.length;
}

/** @returns the current enrollments of the students in the deliveries, without the enrollments of sales */
async function standingOf(
  tx: Transaction,
  studentIds: readonly Id[],
  deliveryIds: readonly Id[],
): Promise<Map<string, Standing>> {
  const rows = await tx.rows<Standing>(sql`SELECT ${columns(Enrollment, ['id', 'studentId', 'deliveryId', 'endsAt'])}
       FROM enrollments
      WHERE student_id = ANY (${studentIds}) AND delivery_id = ANY (${deliveryIds})
        AND origin_id IS NULL AND revoked_at IS NULL AND superseded_at IS NULL`);
  return new Map(rows.map((row) => [keyOf(row), row]));
}

const keyOf = ({ studentId, deliveryId }: { studentId: Id; deliveryId: Id }) => `${studentId} ${deliveryId}`;
