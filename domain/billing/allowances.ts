/** What a club's plan allows: features, and places for students (BILL-2, BILL-3). */
import type { Transaction, Queries } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { PlanName } from '../../entities/billing/values.ts';
import { recordOverage } from './overages.ts';
import { plans, type Feature, type Plan } from './plans.policy.ts';
import { limitOf, planOf, termsOf, type Terms } from './terms.ts';
import { RefusalToPerson } from '../language/refusal.ts';
import { DomainError } from '../../platform/core/errors.ts';

/**
 * The reader of the refusal: an administrator, or somebody else, to whom the message does not mention the plan
 * (AUTH-10).
 */
export type Addressee = 'administrator' | 'person';

/** @returns whether the plan of the club includes the feature now */
export async function hasFeature(db: Queries, clubId: Id, feature: Feature): Promise<boolean> {
  const row = await db.one<{ plan: PlanName | null }>(sql`SELECT ${planOf(clubId)} AS plan`);
  const plan: Plan = plans[row?.plan ?? 'trial'];
  return plan.features.includes(feature);
}

/** @throws DomainError feature_not_in_plan */
export async function requireFeature(
  db: Queries,
  clubId: Id,
  feature: Feature,
  addressee: Addressee = 'administrator',
): Promise<void> {
  if (await hasFeature(db, clubId, feature)) return;
  throw addressee === 'person'
    ? new RefusalToPerson('feature_not_in_plan', 'refusal.not_offered')
    : new DomainError('feature_not_in_plan', `The club's plan does not include ${feature.replaceAll('_', ' ')}.`);
}

/** Places for students that a transaction holds: nobody else of the club takes any until it ends. */
export interface HeldPlaces {
  /** How many students beyond the allowance the club has with them; to be recorded where they are taken. */
  excess: number;
}

/**
 * Locks the club's count of students until the transaction ends. It comes first in the order of locks, before any student
 * (docs/explanation/architecture.md#locks): a transaction that has locked a student must not ask for it.
 */
export async function lockStudentCount(tx: Transaction, clubId: Id): Promise<void> {
  await tx.run(sql`INSERT INTO club_student_counts AS counted (club_id, students) VALUES (${clubId}, 0)
     ON CONFLICT (club_id) DO UPDATE SET students = counted.students`);
}

/**
 * Locks the club's count for students that are about to be added: of two requests for the last place, one waits. The cost does
 * not depend on how many there are. Takes the count's lock, which comes before any student's.
 * @throws DomainError limit_reached, where the plan does not bill overage
 */
export async function lockPlaces(
  tx: Transaction,
  clubId: Id,
  more: number,
  addressee: Addressee = 'administrator',
): Promise<HeldPlaces> {
  // Before the changes are rolled up, never after: one who holds changes and waits for the count would stand in the way of one
  // who holds the count and comes back for more places.
  await lockStudentCount(tx, clubId);
  const row = await tx.one<
    Terms & { students: number }
  >(sql`WITH folded AS (DELETE FROM club_student_changes WHERE club_id = ${clubId} RETURNING students),
     held AS (
       INSERT INTO club_student_counts AS counted (club_id, students) SELECT ${clubId}, coalesce(sum(students), 0) FROM folded
       ON CONFLICT (club_id) DO UPDATE SET students = counted.students + excluded.students RETURNING students)
     SELECT held.students, ${termsOf(clubId, 'students')} FROM held`);
  if (!row) throw new Error('A count that is written has a row');
  const excess = excessOf({ ...row, more });
  if (excess === 'refused') throw noPlaceLeft(addressee);
  return { excess };
}

/**
 * Whether the club could take one more student now, without taking the place or any lock: for sign-ups, which take it when
 * they are confirmed (DEC-62).
 * @throws DomainError limit_reached
 */
export async function requireRoom(db: Queries, clubId: Id, addressee: Addressee): Promise<void> {
  const row = await db.one<Terms & { students: number }>(sql`
    SELECT (coalesce((SELECT students FROM club_student_counts WHERE club_id = ${clubId}), 0)
            + coalesce((SELECT sum(students) FROM club_student_changes WHERE club_id = ${clubId}), 0))::int AS students,
           ${termsOf(clubId, 'students')}`);
  if (row && excessOf({ ...row, more: 1 }) === 'refused') throw noPlaceLeft(addressee);
}

/** @returns by how many students the allowance is exceeded, or that the plan does not bill them */
function excessOf(of: Terms & { students: number; more: number }): number | 'refused' {
  const { limit, overage } = limitOf(of, 'students');
  const excess = Math.max(0, of.students + of.more - limit);
  return excess > 0 && overage === 'refused' ? 'refused' : excess;
}

function noPlaceLeft(addressee: Addressee): DomainError {
  return addressee === 'person'
    ? new RefusalToPerson('limit_reached', 'refusal.no_place_for_students')
    : new DomainError('limit_reached', "The plan's allowance of students is used up.");
}

/** Records that held places beyond the allowance were taken. */
export async function takePlaces(tx: Transaction, clubId: Id, { excess }: HeldPlaces, now: Date): Promise<void> {
  await recordOverage(tx, clubId, 'students', excess, now);
}

/**
 * For who adds a known number of students: holds their places, and records what is beyond the allowance. To be called in the
 * transaction that adds them, before it does.
 * @throws DomainError limit_reached, where the plan does not bill overage
 */
export async function requireStudents(tx: Transaction, clubId: Id, more: number, now: Date): Promise<void> {
  await takePlaces(tx, clubId, await lockPlaces(tx, clubId, more), now);
}
