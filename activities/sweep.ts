/** The activities of the sweeper. */
import type { Database } from '../platform/infra/postgres/database.ts';
import { removeExpired, rescueOverdue } from '../platform/engine/sweeper.ts';

export type SweepActivities = ReturnType<typeof sweepActivities>;

export function sweepActivities(database: Database, onRescued: (count: number) => void) {
  return {
    /** @param now the workflow's time in Unix milliseconds @returns how many workflows were poked */
    async rescueOverdue(now: number): Promise<number> {
      const count = await rescueOverdue(database, new Date(now));
      onRescued(count);
      return count;
    },
    removeExpired: (now: number) => removeExpired(database.source, new Date(now)),
  };
}
