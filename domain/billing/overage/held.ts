/** Counts the charges for overage that do not go through, for operators. */
import { overageChargeReasons } from '../../../entities/billing/values.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';

const reasons = `{${overageChargeReasons.join(',')}}`;

/**
 * SQL for a row of each reason: `label`, and `value`, the number of charges without an item that began more than an hour ago. Short outages
 * of the payment processor are not counted.
 */
export const countOfHeldCharges = sql`SELECT known.reason AS label, count(charge.id)::int AS value
  FROM unnest(${reasons}::text[]) AS known (reason)
  LEFT JOIN overage_charges charge
    ON charge.reason = known.reason AND charge.item_id IS NULL AND charge.status IN ('pending', 'failed')
   AND charge.created_at < clock_timestamp() - interval '1 hour'
 GROUP BY known.reason`;
