/** Cancels the bulk jobs of a club that is erased. */
import type { Id } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { CloseClub } from '../questions.ts';
import { cancelJob } from './jobs.ts';

/** Begins with the newest job, because the end of a job wakes the next one. */
export const closeBulkJobs: CloseClub = async ({ db }, clubId, now) => {
  const open = await db.one<{ id: Id }>(sql`SELECT id FROM bulk_jobs
    WHERE club_id = ${clubId} AND completed_at IS NULL ORDER BY created_at DESC, id LIMIT 1`);
  if (open) await cancelJob({ db }, clubId, open.id, now);
  return { more: open !== undefined };
};
