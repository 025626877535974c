/** The activity of `retention`. */
import { contextsInLockOrder } from '../domain/contexts.ts';
import type { RetentionJob } from '../domain/questions.ts';
import type { VaultDeps } from '../domain/deps.ts';
import { removeOldSignUps } from '../domain/students/students.ts';
import type { MediaDeps } from '../domain/media/media.ts';

/** The number of changed rows for each kind of row, and whether more rows wait for the next round. */
export type RetentionRound = { more: boolean } & Readonly<Record<string, number | boolean>>;

/** @param deps.readsScans whether the deployment can read scanned pages (OCR) */
export function retentionActivities(deps: MediaDeps & VaultDeps & { readsScans?: boolean }) {
  return {
    /**
     * Runs all jobs. A failed job does not prevent the other jobs.
     * @param now the workflow's time in Unix milliseconds
     * @throws the error of the first failed job, after all jobs have run
     */
    async retain(now: number): Promise<RetentionRound> {
      const signUps: RetentionJob = { run: () => removeOldSignUps(deps, new Date(now)) };
      const jobs = [...contextsInLockOrder.flatMap(({ retention }) => retention), signUps];
      const inOrder = jobs.toSorted(
        (one, other) => Number(one.waitsForOthers ?? 0) - Number(other.waitsForOthers ?? 0),
      );
      const rows: Record<string, number> = {};
      let more = false;
      const errors: unknown[] = [];
      for (const job of inOrder) {
        try {
          const result = await job.run(deps, new Date(now));
          Object.assign(rows, result.rows);
          more ||= result.more;
        } catch (error) {
          errors.push(error);
        }
      }
      if (errors.length > 0) throw errors[0];
      return { ...rows, more };
    },
  };
}
