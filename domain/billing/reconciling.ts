/**
 * Finds charges of add-ons that the payment processor knows but the database has lost, after a failover to a replica that was behind
 * (BILL-6).
 */
import { addOnKinds } from '../../entities/billing/values.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { wake } from '../../platform/engine/wakes.ts';
import type { MadeCharge } from '../../platform/infra/payments.ts';
import { addOns } from './plans.policy.ts';
import type { AddOnDeps } from './settling.ts';

/**
 * Creates the missing row of `add_ons` for each payment since the given time, with the id that the payment contains. The workflow of the
 * row then finds the payment and settles the purchase. A second call changes nothing.
 * @throws Error without a processor
 */
export async function reconcileCharges({ db, processor }: AddOnDeps, since: Date, now: Date): Promise<string[]> {
  if (!processor) throw new Error('This environment has no payment processor');
  const restored: string[] = [];
  for await (const charge of processor.paidSince(since))
    if (await db.transaction((tx) => restore(tx, charge, now))) restored.push(charge.addOnId);
  return restored;
}

async function restore(tx: Transaction, charge: MadeCharge, now: Date): Promise<boolean> {
  const { addOnId: id, clubId, quantity, amount, currency, customerId, madeAt } = charge;
  const kind = addOnKinds.find((known) => known === charge.kind);
  if (kind === undefined) return false;
  const row = await tx.one<{
    id: string;
  }>(sql`INSERT INTO add_ons (id, club_id, kind, quantity, adds, amount, currency, status, customer_id, created_at, next_attempt_at)
     SELECT ${id}, club.id, ${kind}, ${quantity}, ${quantity * addOns[kind].adds}, ${amount}, ${currency}, 'pending', ${customerId}, ${madeAt}, ${now}
       FROM clubs club WHERE club.id = ${clubId}
     ON CONFLICT (id) DO NOTHING RETURNING id`);
  if (!row) return false;
  await wake(tx, 'addOn', [{ id, clubId }], now);
  return true;
}
