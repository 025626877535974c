/** Cancels the student imports of a club that is erased. */
import type { Id } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { CloseClub } from '../questions.ts';
import { cancelImport } from './imports/imports.ts';

/** A worker that processes a batch of rows holds the lock of the import, so the cancellation waits for this batch. */
export const closeAccess: CloseClub = async ({ db }, clubId, now) => {
  const open = await db.one<{ id: Id }>(sql`SELECT id FROM student_imports
    WHERE club_id = ${clubId} AND completed_at IS NULL ORDER BY created_at DESC, id LIMIT 1`);
  if (open) await cancelImport({ db }, clubId, open.id, now);
  return { more: open !== undefined };
};
