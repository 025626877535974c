/** Counts the charges for overage that do not go through, for operators. */
import { overageChargeReasons } from '../../../entities/billing/values.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';

const reasons = `{${overageChargeReasons.join(',')}}`;

/**
 * SQL for a row of each reason: `label`, and `value`, the number of charges that began more than an hour ago and do not go through:
 * the last attempt made no item, or no invoice of the item. Short outages of the payment processor are not counted.
 */
export const countOfHeldCharges = sql`SELECT known.reason AS label, count(charge.id)::int AS value
  FROM unnest(${reasons}::text[]) AS known (reason)
  LEFT JOIN overage_charges charge
    ON charge.reason = known.reason AND (charge.status = 'pending' OR (charge.status = 'failed' AND charge.item_id IS NULL))
   AND charge.created_at < clock_timestamp() - interval '1 hour'
 GROUP BY known.reason`;
