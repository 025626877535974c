/** Finds out whether a club still pays: for its plan, or for an add-on. */
import type { Id } from '../../platform/core/ids.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';

/**
 * @returns whether the club has a subscription at the payment processor that has not ended. A subscription with a failed charge counts,
 *   because the processor still tries to charge it. A club without a subscription pays nothing, whatever its plan (DEC-277)
 */
export async function hasPaidPlan(db: Queries, clubId: Id): Promise<boolean> {
  const plan = await db.one(
    sql`SELECT 1 FROM club_plans WHERE club_id = ${clubId} AND subscription_id IS NOT NULL AND status <> 'canceled'`,
  );
  return plan !== undefined;
}

/**
 * @returns whether the payment processor may be charging the club for an add-on. The run of the add-on settles it within minutes, or within
 *   hours if the processor is down
 */
export async function hasOpenPurchase(db: Queries, clubId: Id): Promise<boolean> {
  const purchase = await db.one(sql`SELECT 1 FROM add_ons WHERE club_id = ${clubId} AND status = 'pending' LIMIT 1`);
  return purchase !== undefined;
}
