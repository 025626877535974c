/** Checks what a club's plan includes: features, and seats for students (BILL-2, BILL-3). */
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
 * The person who gets the message of a refusal. A message to an administrator mentions the plan. A message to any other person does not
 * mention the plan (AUTH-10).
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

/** The seats that a transaction has reserved. No other transaction of the club can reserve seats until it ends. */
export interface LockedSeats {
  /** The number of students beyond the plan's allowance. It is recorded when the students are added. */
  excess: number;
}

/**
 * Locks the club's count of students until the transaction ends. Call it before the transaction locks any student
 * (docs/explanation/architecture.md#locks).
 */
export async function lockStudentCount(tx: Transaction, clubId: Id): Promise<void> {
  await tx.run(sql`INSERT INTO club_student_counts AS counted (club_id, students) VALUES (${clubId}, 0)
     ON CONFLICT (club_id) DO UPDATE SET students = counted.students`);
}

/**
 * Reserves seats for new students. The function locks the club's count of students, so two requests cannot both get the last seat. The
 * number of students does not affect the time. Call the function before the transaction locks any student.
 * @throws DomainError limit_reached if no seat is free and the plan does not bill overage
 */
export async function lockSeats(
  tx: Transaction,
  clubId: Id,
  more: number,
  addressee: Addressee = 'administrator',
): Promise<LockedSeats> {
  // Locks the count, and then adds the changes to it. The opposite order can cause a deadlock: one transaction locks the changes and waits
  // for the count, while another transaction has locked the count and waits for the changes.
  await lockStudentCount(tx, clubId);
  const row = await tx.one<
    Terms & { students: number }
  >(sql`WITH folded AS (DELETE FROM club_student_changes WHERE club_id = ${clubId} RETURNING students),
     held AS (
       INSERT INTO club_student_counts AS counted (club_id, students) SELECT ${clubId}, coalesce(sum(students), 0) FROM folded
       ON CONFLICT (club_id) DO UPDATE SET students = counted.students + excluded.students RETURNING students)
     SELECT held.students, ${termsOf(clubId, 'students')} FROM held`);
  if (!row) throw new Error(`The student count of club ${clubId} cannot be read back`);
  const excess = excessOf({ ...row, more });
  if (excess === 'refused') throw noSeatLeft(addressee);
  return { excess };
}

/**
 * Checks whether the club has a free seat now, without a reservation and without a lock. Sign-ups call this function, because a sign-up
 * uses a seat only when it is confirmed (DEC-62).
 * @throws DomainError limit_reached
 */
export async function requireRoom(db: Queries, clubId: Id, addressee: Addressee): Promise<void> {
  const row = await db.one<Terms & { students: number }>(sql`
    SELECT (coalesce((SELECT students FROM club_student_counts WHERE club_id = ${clubId}), 0)
            + coalesce((SELECT sum(students) FROM club_student_changes WHERE club_id = ${clubId}), 0))::int AS students,
           ${termsOf(clubId, 'students')}`);
  if (row && excessOf({ ...row, more: 1 }) === 'refused') throw noSeatLeft(addressee);
}

/** @returns the number of students beyond the allowance, or `refused` if the plan does not bill them */
function excessOf(of: Terms & { students: number; more: number }): number | 'refused' {
  const { limit, overage } = limitOf(of, 'students');
  const excess = Math.max(0, of.students + of.more - limit);
  return excess > 0 && overage === 'refused' ? 'refused' : excess;
}

function noSeatLeft(addressee: Addressee): DomainError {
  return addressee === 'person'
    ? new RefusalToPerson('limit_reached', 'refusal.no_place_for_students')
    : new DomainError('limit_reached', "The plan's allowance of students is used up.");
}

/** Records that reserved seats beyond the allowance are in use. */
export async function takeSeats(tx: Transaction, clubId: Id, { excess }: LockedSeats, now: Date): Promise<void> {
  await recordOverage(tx, clubId, 'students', excess, now);
}

/**
 * Reserves seats for a known number of students, and records the students beyond the allowance. The transaction that adds the students must
 * call this function before it adds them.
 * @throws DomainError limit_reached if too few seats are free and the plan does not bill overage
 */
export async function requireStudents(tx: Transaction, clubId: Id, more: number, now: Date): Promise<void> {
  await takeSeats(tx, clubId, await lockSeats(tx, clubId, more), now);
}
