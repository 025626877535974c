/** How deliveries end otherwise than by an attempt: one place for what a cancel leaves in a row. */
import type { CancelReason } from '../../../entities/webhooks/values.ts';
import { raw, sql, type Sql } from '../../../platform/infra/postgres/sql.ts';

/**
 * @param end.now the time, or the SQL that stands for it
 * @param end.reason its `cancel_reason`
 * @returns assignments: a pending delivery is canceled; nothing that was asked for is made any more, and nothing waits for a
 *   gate. What has ended keeps how it ended.
 */
export function ending({ now, reason }: { now: Date | Sql; reason: CancelReason | null }): Sql {
  const because = raw(reason === null ? 'NULL' : `'${reason}'`);
  return sql`requested = NULL, in_flight = NULL, parked_at = NULL,
          status = CASE WHEN status = 'pending' THEN 'canceled' ELSE status END,
          cancel_reason = CASE WHEN status = 'pending' THEN ${because} ELSE cancel_reason END,
          completed_at = CASE WHEN status = 'pending' THEN ${now instanceof Date ? sql`${now}` : now} ELSE completed_at END`;
}
