/** The activities of the sweeper. */
import { deleteEndedAnswerLogs } from '../domain/agents/answers/answer-logs.ts';
import type { Database } from '../platform/infra/postgres/database.ts';
import { forgetFaults } from '../platform/engine/faults.ts';
import { IncompleteRound, removeExpired, rescueOverdue } from '../platform/engine/sweeper.ts';

export function sweepActivities(db: Database, onRescued: (count: number) => void) {
  return {
    /**
     * @param now the workflow's time in Unix milliseconds
     * @throws IncompleteRound
     */
    async rescueOverdue(now: number): Promise<number> {
      try {
        const count = await rescueOverdue(db, new Date(now));
        onRescued(count);
        return count;
      } catch (error) {
        if (error instanceof IncompleteRound) onRescued(error.rescued);
        throw error;
      }
    },
    /**
     * Removes expired rows, old records of failed steps, and the logs of answers that ended long ago. @param now the workflow's time
     * in Unix milliseconds
     */
    async removeExpired(now: number): Promise<void> {
      await forgetFaults(db, new Date(now));
      await removeExpired(db, new Date(now));
      await deleteEndedAnswerLogs(db, new Date(now));
    },
  };
}
