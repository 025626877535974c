/** The data of `purchase.*` and `subscription.*`: the sale at the time of the fan-out, without tax documents. */
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import type { EventBodyOf } from '../../../../contract/contract.ts';
import { purchaseColumns, subscriptionColumns } from '../../../sales/purchases/listing.ts';
import { recordsOf, type DataReader } from './reading.ts';
import { studentRecord } from './student.ts';

const purchaseData: DataReader<EventBodyOf<'purchase.paid'>['data']> = async (tx, subjects) => {
  const records = await recordsOf(
    tx,
    subjects,
    purchaseColumns,
    sql`JOIN purchases sale ON sale.id = fact.subject_id AND sale.club_id = fact.club_id AND sale.student_id = fact.student_id
         JOIN products product ON product.id = sale.product_id`,
  );
  return records.map(({ row, student }) => ({
    purchase: {
      id: row.id,
      status: row.status,
      platform: row.platform,
      external_id: row.externalId,
      product: { id: row.productId, name: row.productName },
      amount: Number(row.amount),
      currency: row.currency,
      ...(row.refundedAmount !== null && { refunded_amount: Number(row.refundedAmount) }),
      paid_at: row.paidAt.toISOString(),
      ...(row.refundedAt !== null && { refunded_at: row.refundedAt.toISOString() }),
      updated_at: row.updatedAt.toISOString(),
    },
    ...studentRecord(student),
  }));
};

const subscriptionData: DataReader<EventBodyOf<'subscription.canceled'>['data']> = async (tx, subjects) => {
  const records = await recordsOf(
    tx,
    subjects,
    subscriptionColumns,
    sql`JOIN subscriptions sale ON sale.id = fact.subject_id AND sale.club_id = fact.club_id AND sale.student_id = fact.student_id
         JOIN products product ON product.id = sale.product_id`,
  );
  return records.map(({ row, student }) => ({
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
  }));
};

export const salesBodies = {
  'purchase.paid': purchaseData,
  'purchase.refunded': purchaseData,
  'subscription.past_due': subscriptionData,
  'subscription.canceled': subscriptionData,
};
