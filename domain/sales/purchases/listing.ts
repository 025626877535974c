/** Purchases and subscriptions as administrators see them. */
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { windowOf, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import type { PurchaseStatus, SalesPlatform, SubscriptionStatus } from '../../../entities/sales/values.ts';

interface SaleRow {
  id: Id;
  studentId: Id;
  productId: Id;
  productName: string;
  platform: SalesPlatform;
  externalId: string;
  createdAt: Date;
  updatedAt: Date;
}

export interface PurchaseRow extends SaleRow {
  subscriptionId: Id | null;
  status: PurchaseStatus;
  amount: string;
  currency: string;
  paidAt: Date;
  refundedAt: Date | null;
}

export interface SubscriptionRow extends SaleRow {
  status: SubscriptionStatus;
  currentPeriodEnd: Date | null;
  pastDueSince: Date | null;
  canceledAt: Date | null;
  accessEndedAt: Date | null;
}

const sale = `sale.id, sale.student_id AS "studentId", product.id AS "productId", product.name AS "productName", sale.platform,
  sale.external_id AS "externalId", sale.created_at AS "createdAt", sale.updated_at AS "updatedAt", sale.status`;

export const purchaseColumns = `${sale}, sale.subscription_id AS "subscriptionId", sale.amount, sale.currency,
  sale.paid_at AS "paidAt", sale.refunded_at AS "refundedAt"`;
export const subscriptionColumns = `${sale}, sale.current_period_end AS "currentPeriodEnd", sale.past_due_since AS "pastDueSince",
  sale.canceled_at AS "canceledAt", sale.access_ended_at AS "accessEndedAt"`;

export interface SaleFilter<Status> extends PageRequest {
  student_id?: Id;
  status?: Status;
}

/** @returns a page of the club's purchases, newest first; those of removed students too */
export async function listPurchases(
  db: Queries,
  clubId: Id,
  filter: SaleFilter<PurchaseStatus>,
): Promise<Page<RecordOf<'Purchase'>>> {
  const { rows, total } = await page<PurchaseRow>(db, 'purchases', purchaseColumns, clubId, filter);
  return { rows: rows.map(presentPurchase), total };
}

/** @returns a page of the club's subscriptions, newest first; those of removed students too */
export async function listSubscriptions(
  db: Queries,
  clubId: Id,
  filter: SaleFilter<SubscriptionStatus>,
): Promise<Page<RecordOf<'Subscription'>>> {
  const { rows, total } = await page<SubscriptionRow>(db, 'subscriptions', subscriptionColumns, clubId, filter);
  return { rows: rows.map(presentSubscription), total };
}

async function page<Row>(
  db: Queries,
  table: 'purchases' | 'subscriptions',
  columns: string,
  clubId: Id,
  filter: SaleFilter<string>,
): Promise<Page<Row>> {
  const { limit, offset } = windowOf(filter);
  const conditions = ['sale.club_id = $1'];
  const parameters: unknown[] = [clubId];
  for (const [column, value] of [
    ['student_id', filter.student_id],
    ['status', filter.status],
  ] as const) {
    if (value === undefined) continue;
    parameters.push(value);
    conditions.push(`sale.${column} = $${parameters.length}`);
  }
  const where = conditions.join(' AND ');
  const [counted] = await db.query<{ total: number }[]>(
    `SELECT count(*)::int AS total FROM ${table} sale WHERE ${where}`,
    parameters,
  );
  const rows = await db.query<Row[]>(
    `SELECT ${columns} FROM ${table} sale JOIN products product ON product.id = sale.product_id
      WHERE ${where} ORDER BY sale.created_at DESC, sale.id DESC LIMIT ${limit} OFFSET ${offset}`,
    parameters,
  );
  return { rows, total: counted?.total ?? 0 };
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
