/** How deliveries end otherwise than by an attempt: one place for what a cancel leaves in a row. */
import type { CancelReason } from '../../../entities/webhooks/values.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';

/**
 * @param end.reason its `cancel_reason`
 * @returns assignments: a pending delivery is canceled; nothing that was asked for is made any more, and nothing waits for a
 *   gate. What has ended keeps how it ended.
 */
export function ending({ now, reason }: { now: Date; reason: CancelReason | null }): Sql {
  return sql`requested = NULL, in_flight = NULL, parked_at = NULL,
          status = CASE WHEN status = 'pending' THEN 'canceled' ELSE status END,
          cancel_reason = CASE WHEN status = 'pending' THEN ${reason} ELSE cancel_reason END,
          completed_at = CASE WHEN status = 'pending' THEN ${now} ELSE completed_at END`;
}
