/** Ends uploads, the processing of files, moves between buckets and transcriptions of a club that is erased. */
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import type { CloseClub } from '../../questions.ts';
import { removeFiles } from './erasure.ts';

const filesPerBatch = 200;

/**
 * Removes the files that are uploaded or processed. Upkeep then ends the upload in the object store. Workers lose their claims, because the
 * rows are gone or no longer due.
 */
export const closeMedia: CloseClub = ({ db }, clubId, now) =>
  db.transaction(async (tx) => {
    const open = sql`SELECT file.id FROM media file
       WHERE file.id IN (SELECT id FROM media_uploads WHERE club_id = ${clubId}
                          UNION ALL SELECT id FROM media WHERE club_id = ${clubId} AND looks_at IS NOT NULL)
         AND file.removed_at IS NULL ORDER BY file.id LIMIT ${filesPerBatch} FOR NO KEY UPDATE`;
    const files = await tx.rows<{ id: string }>(open);
    await removeFiles(tx, sql`SELECT unnest(${files.map(({ id }) => id)}::uuid[])`, now);
    let more = files.length === filesPerBatch;
    for (const table of ['media_moves', 'media_transcriptions']) {
      const ended = await tx.run(sql`DELETE FROM ${raw(table)} WHERE id IN (
        SELECT id FROM ${raw(table)} WHERE club_id = ${clubId} AND looks_at IS NOT NULL ORDER BY id LIMIT ${filesPerBatch})`);
      more ||= ended === filesPerBatch;
    }
    return { more };
  });
