/** Closes the ended months of a club, and begins the charge of each exceeded resource (BILL-8). */
import { createHash } from 'node:crypto';
import { Overage } from '../../../entities/billing/overage.ts';
import { billedResources, type BilledResource } from '../../../entities/billing/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import { packsOf, planWithPrices } from './prices.policy.ts';

/**
 * The id of the charge for a resource in a month. A row that was lost after a failover and written again gets the same id. So it has the
 * same idempotency keys, and its earlier item is found at the processor.
 * @param month the first day of the month, such as `2026-03-01`
 */
export function overageChargeId(clubId: Id, resource: BilledResource, month: string): Id {
  const digest = createHash('sha256').update(`overage ${clubId} ${resource} ${month}`).digest('hex');
  // A UUID of version 8, whose digits may be derived in any way (RFC 9562).
  const variant = ((Number.parseInt(digest.charAt(16), 16) & 3) | 8).toString(16);
  return [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `${variant}${digest.slice(17, 20)}`,
    digest.slice(20, 32),
  ].join('-');
}

/**
 * Closes the club's open months before `month`, and begins their charges. An excess of an earlier version has no plan, and is not charged. The caller has locked the club's row of `overage_turns`.
 * @param month the first day of the current month, such as `2026-03-01`
 * @returns whether an exceeded month of the club is still open
 */
export async function beginCharges(tx: Transaction, clubId: Id, month: string, now: Date): Promise<boolean> {
  const closed = await tx.rows<Pick<Overage, 'resource' | 'excess' | 'plan'> & { month: string }>(sql`
    UPDATE overages SET closed_at = ${now} WHERE club_id = ${clubId} AND month < ${month} AND closed_at IS NULL
    RETURNING ${columns(Overage, ['resource', 'excess', 'plan'])}, month::text AS month`);
  for (const one of closed) {
    const resource = billedResources.find((billed) => billed === one.resource);
    if (resource === undefined) throw new Error(`The overage of ${one.resource} has no price`);
    const id = overageChargeId(clubId, resource, one.month);
    // An earlier version recorded this excess, and clubs were told that it is only recorded.
    if (one.plan === null) continue;
    const plan = planWithPrices(one.plan);
    const packs = packsOf(resource, Number(one.excess));
    const newCharge = await tx.one<{ id: Id }>(sql`
      INSERT INTO overage_charges (id, club_id, resource, month, excess, packs, plan, status, created_at, next_attempt_at)
      VALUES (${id}, ${clubId}, ${resource}, ${one.month}, ${one.excess}, ${packs}, ${plan}, 'pending', ${now}, ${now})
      ON CONFLICT DO NOTHING RETURNING id`);
    if (newCharge) await wake(tx, 'overageCharge', [{ id, clubId }], now);
  }
  const open = await tx.one(sql`SELECT 1 FROM overages WHERE club_id = ${clubId} AND closed_at IS NULL LIMIT 1`);
  return open !== undefined;
}
