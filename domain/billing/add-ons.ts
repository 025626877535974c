/** Buys and lists add-ons, which a club buys in addition to its plan (BILL-4). */
import { AddOn } from '../../entities/billing/add-on.ts';
import { ClubPlan } from '../../entities/billing/club-plan.ts';
import type { RecordOf } from '../../contract/contract.ts';
import type { Transaction, Queries } from '../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf } from '../../platform/infra/postgres/sql.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { newestFirst } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { wake } from '../../platform/engine/wakes.ts';
import { addOnLeaseSeconds } from './add-ons.policy.ts';
import type { AddOnKind } from '../../entities/billing/values.ts';
import { addOnCurrency, addOns } from './plans.policy.ts';
import { chargeClaimed, claimColumns, type AddOnDeps, type ClaimedAddOn } from './settling.ts';

type AddOnRecord = RecordOf<'AddOn'>;

export interface Purchase {
  /** The id that the buyer chooses, so that a repeated request does not create a second purchase. */
  id: Id;
  kind: AddOnKind;
  /** In packages. */
  quantity: number;
}

const paymentFailed = () =>
  new DomainError('payment_failed', 'The payment was declined. The allowance has not changed.');

/**
 * Buys an add-on and charges it immediately. If the processor reports no outcome, the add-on stays pending, and its workflow settles the
 * purchase.
 * @returns the add-on, active or pending
 * @throws DomainError not_configured, payment_failed, add_on_exists
 */
export async function buyAddOn(deps: AddOnDeps, clubId: Id, purchase: Purchase, now: Date): Promise<AddOnRecord> {
  if (!deps.processor) throw new DomainError('not_configured', 'This environment has no payment processor.');
  const id = purchase.id.toLowerCase();
  const newClaim = await deps.db.transaction((tx) => begin(tx, clubId, { ...purchase, id }, now));
  if (newClaim) await chargeClaimed(deps, newClaim, now, { wakeAfter: true });
  const addOn = await findPurchase(deps.db, clubId, { ...purchase, id });
  if (addOn.status === 'failed') throw paymentFailed();
  return addOn;
}

/**
 * Records the purchase before anything is charged, and gives the caller a lease on the row of the purchase.
 * @returns undefined if the purchase was recorded before
 */
async function begin(
  tx: Transaction,
  clubId: Id,
  { id, kind, quantity }: Purchase,
  now: Date,
): Promise<ClaimedAddOn | undefined> {
  if (await tx.manager.existsBy(AddOn, { id })) return undefined;
  const billing = await tx.one<{ customerId: string | null }>(
    sql`SELECT ${columns(ClubPlan, ['customerId'])} FROM club_plans WHERE club_id = ${clubId}`,
  );
  if (!billing?.customerId) throw new DomainError('payment_failed', 'The club has no payment method.');
  const newClaim =
    await tx.one<ClaimedAddOn>(sql`INSERT INTO add_ons (id, club_id, kind, quantity, adds, amount, currency, status, customer_id, created_at, next_attempt_at,
                          attempt_count, fence, lease_until)
     VALUES (${id}, ${clubId}, ${kind}, ${quantity}, ${quantity * addOns[kind].adds}, ${quantity * addOns[kind].price}, ${addOnCurrency}, 'pending', ${billing.customerId}, ${now}, ${now}, 1, 1, clock_timestamp() + make_interval(secs => ${addOnLeaseSeconds}))
     ON CONFLICT (id) DO NOTHING RETURNING ${claimColumns}`);
  if (newClaim) await wake(tx, 'addOn', [newClaim], now);
  return newClaim;
}

const addOnColumns = columns(AddOn, [
  'id',
  'clubId',
  'kind',
  'quantity',
  'adds',
  'amount',
  'currency',
  'status',
  'createdAt',
  'settledAt',
]);
type AddOnRow = RowOf<typeof addOnColumns>;

/** @throws DomainError add_on_exists if the id belongs to another purchase */
async function findPurchase(db: Queries, clubId: Id, { id, kind, quantity }: Purchase): Promise<AddOnRecord> {
  const row = await db.one<AddOnRow>(sql`SELECT ${addOnColumns} FROM add_ons WHERE id = ${id}`);
  if (!row || row.clubId !== clubId || row.kind !== kind || row.quantity !== quantity)
    throw new DomainError('add_on_exists', 'This id belongs to another purchase.');
  return present(row);
}

/** @returns a page of the club's add-ons, newest first */
export async function listAddOns(db: Queries, clubId: Id, page: PageRequest): Promise<Page<AddOnRecord>> {
  const { rows, total, next } = await listPage(db, page, {
    columns: addOnColumns,
    from: sql`FROM add_ons WHERE club_id = ${clubId}`,
    orderBy: newestFirst(),
  });
  return { rows: rows.map(present), total, next };
}

function present({ id, kind, quantity, adds, amount, currency, status, createdAt, settledAt }: AddOnRow): AddOnRecord {
  return {
    id,
    kind,
    quantity,
    adds: Number(adds),
    amount,
    currency,
    status,
    created_at: createdAt.toISOString(),
    ...(settledAt && { settled_at: settledAt.toISOString() }),
  };
}
