/** Access for many students at once, by the rules of `grantAccess`, in a number of statements that does not grow with theirs. */
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { recordFacts } from '../../../platform/engine/facts.ts';
import type { EnrollmentSource } from '../../../entities/access/values.ts';
import { hasEnded } from './rows.ts';
import { termsOf } from './enrollments.ts';

export interface ManyGrants {
  clubId: Id;
  /** Whose rows the transaction holds; none twice. */
  studentIds: readonly Id[];
  deliveryIds: readonly Id[];
  /** Not a sale: what a student has from elsewhere than a sale is not given twice. */
  source: Exclude<EnrollmentSource, 'purchase' | 'subscription'>;
}

interface Standing {
  id: Id;
  studentId: Id;
  deliveryId: Id;
  endsAt: Date | null;
}

/**
 * Gives each of the students each of the deliveries that they do not have, and records `access.granted` for each that is new.
 * @returns how many are
 * @throws DomainError not_found (delivery or cohort), delivery_archived, invalid_request (an end that is not after the beginning)
 */
export async function grantToMany(tx: Transaction, grants: ManyGrants, now: Date): Promise<number> {
  const { clubId, studentIds, deliveryIds, source } = grants;
  if (studentIds.length === 0 || deliveryIds.length === 0) return 0;
  const standing = await standingOf(tx, studentIds, deliveryIds);
  const ended = [...standing.values()].filter((enrollment) => hasEnded(enrollment, now));
  await tx.query(`UPDATE enrollments SET superseded_at = $2, updated_at = $2 WHERE id = ANY ($1)`, [
    ended.map(({ id }) => id),
    now,
  ]);

  const fresh = [];
  for (const deliveryId of deliveryIds) {
    const lacking = studentIds.filter((studentId) => {
      const has = standing.get(keyOf({ studentId, deliveryId }));
      return !has || hasEnded(has, now);
    });
    if (lacking.length === 0) continue;
    const terms = await termsOf(tx, { clubId, deliveryId }, now);
    fresh.push(...lacking.map((studentId) => ({ id: newId(), studentId, deliveryId, ...terms })));
  }
  await tx.query(
    `INSERT INTO enrollments (id, club_id, student_id, delivery_id, cohort_id, source, starts_at, ends_at, created_at, updated_at)
     SELECT (one->>'id')::uuid, $2, (one->>'studentId')::uuid, (one->>'deliveryId')::uuid, (one->>'cohortId')::uuid, $3,
            (one->>'startsAt')::timestamptz, (one->>'endsAt')::timestamptz, $4, $4
       FROM jsonb_array_elements($1::jsonb) AS one`,
    [JSON.stringify(fresh), clubId, source, now],
  );
  await recordFacts(
    tx,
    fresh.map(({ id, studentId }) => ({
      clubId,
      type: 'access.granted',
      studentId,
      subjectId: id,
      occurredAt: now,
    })),
  );
  return fresh.length;
}

/** What the students have of the deliveries, from elsewhere than a sale. */
async function standingOf(
  tx: Transaction,
  studentIds: readonly Id[],
  deliveryIds: readonly Id[],
): Promise<Map<string, Standing>> {
  const rows = await tx.query<Standing[]>(
    `SELECT id, student_id AS "studentId", delivery_id AS "deliveryId", ends_at AS "endsAt"
       FROM enrollments
      WHERE student_id = ANY ($1) AND delivery_id = ANY ($2)
        AND origin_id IS NULL AND revoked_at IS NULL AND superseded_at IS NULL`,
    [studentIds, deliveryIds],
  );
  return new Map(rows.map((row) => [keyOf(row), row]));
}

const keyOf = ({ studentId, deliveryId }: { studentId: Id; deliveryId: Id }) => `${studentId} ${deliveryId}`;
