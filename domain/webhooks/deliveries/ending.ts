/** The SQL assignments that end deliveries without an attempt. */
import type { CancelReason } from '../../../entities/webhooks/values.ts';
import { raw, sql, type Sql } from '../../../platform/infra/postgres/sql.ts';

/**
 * @param end.now the time, or an SQL expression for the time
 * @param end.reason the `cancel_reason`
 * @returns SQL assignments that cancel a pending delivery, drop requested attempts, and unpark the delivery. A delivery that has ended
 * keeps its status
 */
export function ending({ now, reason }: { now: Date | Sql; reason: CancelReason | null }): Sql {
  const because = raw(reason === null ? 'NULL' : `'${reason}'`);
  return sql`requested = NULL, in_flight = NULL, parked_at = NULL,
          status = CASE WHEN status = 'pending' THEN 'canceled' ELSE status END,
          cancel_reason = CASE WHEN status = 'pending' THEN ${because} ELSE cancel_reason END,
          completed_at = CASE WHEN status = 'pending' THEN ${now instanceof Date ? sql`${now}` : now} ELSE completed_at END`;
}
