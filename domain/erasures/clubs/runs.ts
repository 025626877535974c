/** Terminates the runs of a club (ERS-12). */
import type { Id } from '../../../platform/core/ids.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { addRuns } from './counts.ts';

/**
 * Terminates some runs of the club, and deletes their recorded faults.
 * @returns the number of terminated runs; 0 if Temporal lists no running run of the club except its erasure
 */
export async function terminateClubRuns(
  { db, terminateRuns }: { db: Database; terminateRuns: (clubId: Id) => Promise<string[]> },
  { clubId, erasureId }: { clubId: Id; erasureId: Id },
): Promise<number> {
  const ended = await terminateRuns(clubId);
  if (ended.length === 0) return 0;
  await db.transaction(async (tx) => {
    await tx.run(sql`DELETE FROM failing_steps WHERE workflow_id = ANY (${ended}::text[])`);
    await addRuns(tx, erasureId, ended.length);
  });
  return ended.length;
}
