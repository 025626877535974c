/** Requests that meet: all of them have begun before one of them may go on. */
import type { Id } from '../../../domain/core/ids.ts';
import { holdingOpen, waitingForLocks } from '../builders/deliveries.ts';

/**
 * Holds the club's row while requests pile up before it, then lets them go.
 * @param begin starts requests that change something of which a club has but so much, and so take turns at its row
 * @throws Error when they do not wait for their turn
 */
export async function allAtOnce<T>(clubId: Id, begin: () => readonly Promise<T>[]): Promise<T[]> {
  let requests: readonly Promise<T>[] = [];
  await holdingOpen(
    (tx) => tx.query(`SELECT 1 FROM clubs WHERE id = $1 FOR NO KEY UPDATE`, [clubId]),
    async () => {
      requests = begin();
      await waitingForLocks(requests.length);
    },
  );
  return Promise.all(requests);
}
