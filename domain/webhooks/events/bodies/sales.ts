/** What `purchase.*` and `subscription.*` say: the sale as it is when the body is assembled. Never a tax document. */
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import type { EventBodyOf } from '../../../../contract/contract.ts';
import {
  purchaseColumns,
  subscriptionColumns,
  type PurchaseRow,
  type SubscriptionRow,
} from '../../../sales/purchases/listing.ts';
import { oneRow, type DataReader } from './reading.ts';
import { studentRecord } from './student.ts';

const purchaseData: DataReader<EventBodyOf<'purchase.paid'>['data']> = async (tx, fact, student) => {
  const row = oneRow(
    await tx.rows<PurchaseRow>(
      sql`SELECT ${purchaseColumns} FROM purchases sale JOIN products product ON product.id = sale.product_id
           WHERE sale.id = ${fact.subjectId} AND sale.club_id = ${fact.clubId} AND sale.student_id = ${fact.studentId}`,
    ),
    fact,
  );
  return {
    purchase: {
      id: row.id,
      status: row.status,
      platform: row.platform,
      external_id: row.externalId,
      product: { id: row.productId, name: row.productName },
      amount: Number(row.amount),
      currency: row.currency,
      paid_at: row.paidAt.toISOString(),
      ...(row.refundedAt !== null && { refunded_at: row.refundedAt.toISOString() }),
      updated_at: row.updatedAt.toISOString(),
    },
    ...studentRecord(student),
  };
};

const subscriptionData: DataReader<EventBodyOf<'subscription.canceled'>['data']> = async (tx, fact, student) => {
  const row = oneRow(
    await tx.rows<SubscriptionRow>(
      sql`SELECT ${subscriptionColumns} FROM subscriptions sale JOIN products product ON product.id = sale.product_id
           WHERE sale.id = ${fact.subjectId} AND sale.club_id = ${fact.clubId} AND sale.student_id = ${fact.studentId}`,
    ),
    fact,
  );
  return {
    subscription: {
      id: row.id,
      status: row.status,
      platform: row.platform,
      external_id: row.externalId,
      product: { id: row.productId, name: row.productName },
      ...(row.currentPeriodEnd !== null && { current_period_end: row.currentPeriodEnd.toISOString() }),
      ...(row.pastDueSince !== null && { past_due_since: row.pastDueSince.toISOString() }),
      ...(row.canceledAt !== null && { canceled_at: row.canceledAt.toISOString() }),
      updated_at: row.updatedAt.toISOString(),
    },
    ...studentRecord(student),
  };
};

export const salesBodies = {
  'purchase.paid': purchaseData,
  'purchase.refunded': purchaseData,
  'subscription.past_due': subscriptionData,
  'subscription.canceled': subscriptionData,
};
