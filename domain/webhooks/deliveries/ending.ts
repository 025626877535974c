/** How deliveries end otherwise than by an attempt: one place for what a cancel leaves in a row. */

/**
 * @param end.now the parameter that holds the time, such as `$2`
 * @param end.reason an SQL expression of the `cancel_reason`
 * @returns assignments: a pending delivery is canceled; nothing that was asked for is made any more, and nothing waits for a
 *   gate. What has ended keeps how it ended.
 */
export function ending({ now, reason }: { now: string; reason: string }): string {
  return `requested = NULL, in_flight = NULL, parked_at = NULL,
          status = CASE WHEN status = 'pending' THEN 'canceled' ELSE status END,
          cancel_reason = CASE WHEN status = 'pending' THEN ${reason} ELSE cancel_reason END,
          completed_at = CASE WHEN status = 'pending' THEN ${now} ELSE completed_at END`;
}
