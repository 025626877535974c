/** The activities of the sweeper. */
import { deleteEndedAnswerLogs } from '../domain/agents/answers/answer-logs.ts';
import type { Database } from '../platform/infra/postgres/database.ts';
import { removeExpired, rescueOverdue } from '../platform/engine/sweeper.ts';

export type SweepActivities = ReturnType<typeof sweepActivities>;

export function sweepActivities(db: Database, onRescued: (count: number) => void) {
  return {
    /** @param now the workflow's time in Unix milliseconds @returns how many workflows were woken */
    async rescueOverdue(now: number): Promise<number> {
      const count = await rescueOverdue(db, new Date(now));
      onRescued(count);
      return count;
    },
    /** Removes expired rows and the logs of answers that have ended. @param now as above */
    async removeExpired(now: number): Promise<void> {
      await removeExpired(db.source, new Date(now));
      await deleteEndedAnswerLogs(db, new Date(now));
    },
  };
}
