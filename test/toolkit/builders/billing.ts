/** Builds plans and add-ons of clubs, and clubs with any number of students. */
import { overageChargeId } from '../../../domain/billing/overage/beginning.ts';
import type { PlanName } from '../../../entities/billing/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';

/** An add-on of 100 students that was just purchased. The default status is `pending`, and the next step of the workflow is due. */
export async function buildAddOn(clubId: Id, more: Record<string, unknown> = {}): Promise<{ id: Id; clubId: Id }> {
  const source = await testDatabase();
  const now = new Date();
  const row = {
    id: newId(),
    club_id: clubId,
    kind: 'students',
    quantity: 1,
    adds: 100,
    amount: 1_000,
    currency: 'usd',
    status: 'pending',
    customer_id: `cus_${clubId}`,
    created_at: now,
    next_attempt_at: now,
    ...more,
  };
  const columns = Object.keys(row);
  await source.query(
    `INSERT INTO add_ons (${columns.join(', ')}) VALUES (${columns.map((_, index) => `$${index + 1}`).join(', ')})`,
    Object.values(row),
  );
  return { id: row.id, clubId };
}

/**
 * The charge for 117 students in March 2026, which the service has just begun. Its next step is due.
 * @param more further columns by name; `customer` is the customer of the club's plan, and null for a club without a customer
 */
export async function buildOverageCharge(
  clubId: Id,
  { customer = `cus_${clubId}`, ...more }: Record<string, unknown> = {},
): Promise<{ id: Id; clubId: Id }> {
  await buildPlan(clubId, 'business', { customer_id: customer });
  const source = await testDatabase();
  const now = new Date();
  const row = {
    id: overageChargeId(clubId, 'students', '2026-03-01'),
    club_id: clubId,
    resource: 'students',
    month: '2026-03-01',
    excess: 117,
    packs: 2,
    plan: 'business',
    status: 'pending',
    created_at: now,
    next_attempt_at: now,
    ...more,
  };
  const columns = Object.keys(row);
  await source.query(
    `INSERT INTO overage_charges (${columns.join(', ')}) VALUES (${columns.map((_, index) => `$${index + 1}`).join(', ')})`,
    Object.values(row),
  );
  return { id: row.id, clubId };
}

/** @param more further columns by name */
export async function buildPlan(clubId: Id, plan: PlanName, more: Record<string, unknown> = {}): Promise<void> {
  const source = await testDatabase();
  const row = { club_id: clubId, plan, status: 'active', ...more };
  const columns = Object.keys(row);
  await source.query(
    `INSERT INTO club_plans (${columns.join(', ')}) VALUES (${columns.map((_, index) => `$${index + 1}`).join(', ')})
     ON CONFLICT (club_id) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}`,
    Object.values(row),
  );
}

/** Adds students who never signed up, by one statement. */
export async function buildStudents(clubId: Id, count: number): Promise<void> {
  const source = await testDatabase();
  await source.query(
    `INSERT INTO students (id, club_id, name, email, created_at)
     SELECT id, $1, 'Stella Student', id || '@example.com', $3 FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, $2)) AS ids`,
    [clubId, count, new Date()],
  );
}

/** Sets the stored number of a club's students, but creates no students, because tens of thousands of them would take long. */
export async function buildStudentCount(clubId: Id, count: number): Promise<void> {
  const source = await testDatabase();
  await source.query(`INSERT INTO club_student_counts (club_id, students) VALUES ($1, $2)`, [clubId, count]);
}
