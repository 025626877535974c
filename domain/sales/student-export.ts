/** The data of the context `sales` in the export of a student: purchases, subscriptions, and notices with their buyer (EXP-3). */
import type { ExportStudent } from '../questions.ts';
import { foldEmail } from '../../platform/core/text/text.policy.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { buyerFieldsOf } from './notices/buyer-fields.ts';

export const exportSales: ExportStudent = ({ clubId, studentId }) => ({
  sections: {
    purchases: {
      records: sql`
        SELECT purchase.id, purchase.platform, purchase.external_id, product.name AS product_name, purchase.subscription_id,
               purchase.status, purchase.amount::float8, purchase.currency, purchase.refunded_amount::float8, purchase.paid_at,
               purchase.refunded_at
          FROM purchases purchase JOIN products product ON product.id = purchase.product_id
         WHERE purchase.student_id = ${studentId} ORDER BY purchase.paid_at, purchase.id`,
    },
    subscriptions: {
      records: sql`
        SELECT subscription.id, subscription.platform, subscription.external_id, product.name AS product_name, subscription.status,
               subscription.current_period_end, subscription.past_due_since, subscription.canceled_at, subscription.access_ended_at,
               subscription.created_at
          FROM subscriptions subscription JOIN products product ON product.id = subscription.product_id
         WHERE subscription.student_id = ${studentId} ORDER BY subscription.created_at, subscription.id`,
    },
    sales_notices: {
      records: sql`
        SELECT id, platform, status, received_at, body, (SELECT email FROM students WHERE id = ${studentId}) AS email
          FROM sales_notices
         WHERE student_id = ${studentId}
            OR (club_id = ${clubId} AND student_id IS NULL AND body IS NOT NULL
                AND addresses @> ARRAY[(SELECT email FROM students WHERE id = ${studentId})])
         ORDER BY received_at, id`,
      present({ body, email, ...notice }) {
        const fields = body instanceof Buffer ? buyerFieldsOf(body) : [];
        // A notice that was not processed may name the student as an affiliate. Then the buyer is another person.
        const isBuyer = notice['status'] === 'processed' || fields.some(({ value }) => foldEmail(value) === email);
        return { ...notice, buyer: isBuyer ? fields : [] };
      },
    },
  },
});
