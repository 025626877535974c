/** Lists purchases and subscriptions as administrators see them. */
import { Product } from '../../../entities/sales/product.ts';
import { Purchase } from '../../../entities/sales/purchase.ts';
import { Subscription } from '../../../entities/sales/subscription.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { all, columns, sql, type Columns, type RowOf, type Sql } from '../../../platform/infra/postgres/sql.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import type { PurchaseStatus, SubscriptionStatus } from '../../../entities/sales/values.ts';

const ofProduct = columns(Product, { productId: 'id', productName: 'name' }, 'product');

/** A SELECT from `purchases sale`, joined with the product of the sale. */
export const purchaseColumns = columns(
  Purchase,
  [
    'id',
    'studentId',
    'platform',
    'externalId',
    'createdAt',
    'updatedAt',
    'status',
    'subscriptionId',
    'amount',
    'currency',
    'refundedAmount',
    'paidAt',
    'refundedAt',
  ],
  'sale',
).and(ofProduct);
export type PurchaseRow = RowOf<typeof purchaseColumns>;

/** A SELECT from `subscriptions sale`, joined with the product of the sale. */
export const subscriptionColumns = columns(
  Subscription,
  [
    'id',
    'studentId',
    'platform',
    'externalId',
    'createdAt',
    'updatedAt',
    'status',
    'currentPeriodEnd',
    'pastDueSince',
    'canceledAt',
    'accessEndedAt',
  ],
  'sale',
).and(ofProduct);
export type SubscriptionRow = RowOf<typeof subscriptionColumns>;

export interface SaleFilter<Status> extends PageRequest {
  student_id?: Id;
  status?: Status;
}

/** @returns a page of the club's purchases, newest first, including purchases of removed students */
export async function listPurchases(
  db: Queries,
  clubId: Id,
  filter: SaleFilter<PurchaseStatus>,
): Promise<Page<RecordOf<'Purchase'>>> {
  const { rows, total, next } = await listSales(db, clubId, filter, {
    table: sql`purchases`,
    columns: purchaseColumns,
  });
  return { rows: rows.map(presentPurchase), total, next };
}

/** @returns a page of the club's subscriptions, newest first, including subscriptions of removed students */
export async function listSubscriptions(
  db: Queries,
  clubId: Id,
  filter: SaleFilter<SubscriptionStatus>,
): Promise<Page<RecordOf<'Subscription'>>> {
  const { rows, total, next } = await listSales(db, clubId, filter, {
    table: sql`subscriptions`,
    columns: subscriptionColumns,
  });
  return { rows: rows.map(presentSubscription), total, next };
}

function listSales<Row>(
  db: Queries,
  clubId: Id,
  filter: SaleFilter<string>,
  sale: { table: Sql; columns: Columns<Row> },
): Promise<Page<Row>> {
  const filters = all([
    sql`sale.club_id = ${clubId}`,
    filter.student_id === undefined ? undefined : sql`sale.student_id = ${filter.student_id}`,
    filter.status === undefined ? undefined : sql`sale.status = ${filter.status}`,
  ]);
  return listPage(db, filter, {
    columns: sale.columns,
    from: sql`FROM ${sale.table} sale JOIN products product ON product.id = sale.product_id WHERE ${filters}`,
    counted: sql`FROM ${sale.table} sale WHERE ${filters}`,
    changedAt: 'sale.changed_at',
    orderBy: newestFirst('sale'),
  });
}

function presentPurchase(row: PurchaseRow): RecordOf<'Purchase'> {
  return {
    id: row.id,
    student_id: row.studentId,
    product: { id: row.productId, name: row.productName },
    ...(row.subscriptionId !== null && { subscription_id: row.subscriptionId }),
    platform: row.platform,
    external_id: row.externalId,
    status: row.status,
    amount: Number(row.amount),
    currency: row.currency,
    ...(row.refundedAmount !== null && { refunded_amount: Number(row.refundedAmount) }),
    paid_at: row.paidAt.toISOString(),
    ...(row.refundedAt !== null && { refunded_at: row.refundedAt.toISOString() }),
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}

function presentSubscription(row: SubscriptionRow): RecordOf<'Subscription'> {
  return {
    id: row.id,
    student_id: row.studentId,
    product: { id: row.productId, name: row.productName },
    platform: row.platform,
    external_id: row.externalId,
    status: row.status,
    ...(row.currentPeriodEnd !== null && { current_period_end: row.currentPeriodEnd.toISOString() }),
    ...(row.pastDueSince !== null && { past_due_since: row.pastDueSince.toISOString() }),
    ...(row.canceledAt !== null && { canceled_at: row.canceledAt.toISOString() }),
    ...(row.accessEndedAt !== null && { access_ended_at: row.accessEndedAt.toISOString() }),
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}
