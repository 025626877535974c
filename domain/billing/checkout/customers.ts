/** Finds or creates the customer of a club at the payment processor. Each club has one customer (BILL-13). */
import { ClubPlan } from '../../../entities/billing/club-plan.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Checkouts } from '../../../platform/infra/checkouts.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';

export interface CustomerOfClub {
  /** The customer of the club's subscription, or else of an earlier checkout. */
  customerId: string | null;
  /** Null if the club has never subscribed. */
  subscriptionId: string | null;
  status: ClubPlan['status'] | null;
}

/** @param clubId the id of an existing club */
export async function readCustomer(db: Queries, clubId: Id): Promise<CustomerOfClub> {
  const row = await db.one<CustomerOfClub>(sql`
    SELECT coalesce(plan.customer_id, customer.customer_id) AS "customerId", ${columns(ClubPlan, ['subscriptionId', 'status'], 'plan')}
      FROM clubs club
      LEFT JOIN club_plans plan ON plan.club_id = club.id
      LEFT JOIN billing_customers customer ON customer.club_id = club.id
     WHERE club.id = ${clubId}`);
  if (!row) throw new Error(`There is no club ${clubId}`);
  return row;
}

/**
 * Creates the club's customer. Simultaneous requests create one customer, because they send the same idempotency key.
 * @param former the customer that was deleted at the processor, or null
 * @returns the customer's id
 * @throws ProcessorProblem
 */
export async function createCustomer(
  db: Queries,
  checkouts: Checkouts,
  clubId: Id,
  former: string | null,
  now: Date,
): Promise<string> {
  const created = await checkouts.findOrMakeCustomer(clubId, `customer/${clubId}/${former ?? 'first'}`);
  const row = await db.one<{ customerId: string }>(sql`
    INSERT INTO billing_customers AS known (club_id, customer_id, created_at) VALUES (${clubId}, ${created}, ${now})
    ON CONFLICT (club_id) DO UPDATE SET customer_id = CASE WHEN known.customer_id IS NOT DISTINCT FROM ${former} THEN excluded.customer_id ELSE known.customer_id END
    RETURNING customer_id AS "customerId"`);
  return row?.customerId ?? created;
}
