/** Counts the charges for overage that do not go through, for operators. */
import { overageChargeReasons } from '../../../entities/billing/values.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';

/** Short outages of the payment processor are no reason to look. */
const hour = 3_600_000;

/** Returns SQL for a row of each reason: `label` and `value`, the number of charges without an item that began more than an hour ago. */
export function countOfHeldCharges(now: Date): Sql {
  const before = new Date(now.getTime() - hour);
  return sql`
    SELECT reason AS label, count(charge.id)::int AS value
      FROM unnest(${[...overageChargeReasons]}::text[]) AS reason
      LEFT JOIN overage_charges charge
        ON charge.reason = reason AND charge.item_id IS NULL AND charge.status IN ('pending', 'failed') AND charge.created_at < ${before}
     GROUP BY reason`;
}
