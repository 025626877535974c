/** Reads the effects of notices about sales. */
import type { Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';

export interface NoticeLeft {
  status: string;
  errorCode: string | null;
  errorPath: string | null;
  attemptCount: number;
  body: Buffer | null;
  studentId: Id | null;
}

export async function noticeRow(noticeId: Id): Promise<NoticeLeft> {
  const source = await testDatabase();
  const [row] = await source.query<NoticeLeft[]>(
    `SELECT status, error_code AS "errorCode", error_path AS "errorPath", attempt_count AS "attemptCount", body, student_id AS "studentId"
       FROM sales_notices WHERE id = $1`,
    [noticeId],
  );
  if (!row) throw new Error('The notice does not exist');
  return row;
}

/** Leaves out ids and processing times. */
export async function salesStateOf(clubId: Id): Promise<Record<string, unknown>> {
  const source = await testDatabase();
  const rows = (sql: string) => source.query<unknown[]>(sql, [clubId]);
  return {
    students: await rows(`SELECT email, name FROM students WHERE club_id = $1 ORDER BY email`),
    purchases: await rows(
      `SELECT sale.external_id, sale.status, amount, currency, refunded_amount, paid_at, refunded_at, subscription.external_id AS subscription
         FROM purchases sale LEFT JOIN subscriptions subscription ON subscription.id = sale.subscription_id
        WHERE sale.club_id = $1 ORDER BY sale.external_id`,
    ),
    subscriptions: await rows(
      `SELECT external_id, status, current_period_end, past_due_since, canceled_at FROM subscriptions WHERE club_id = $1 ORDER BY 1`,
    ),
    enrollments: await rows(
      `SELECT delivery_id, source, ends_at, revoked_reason FROM enrollments WHERE club_id = $1 ORDER BY source, delivery_id`,
    ),
    facts: await rows(
      `SELECT fact.type, coalesce(purchase.external_id, subscription.external_id, enrollment.delivery_id::text) AS about, count(*)::int
         FROM facts fact LEFT JOIN purchases purchase ON purchase.id = fact.subject_id
         LEFT JOIN subscriptions subscription ON subscription.id = fact.subject_id
         LEFT JOIN enrollments enrollment ON enrollment.id = fact.subject_id
        WHERE fact.club_id = $1 GROUP BY 1, 2 ORDER BY 1, 2`,
    ),
  };
}
