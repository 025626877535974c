/**
 * Files that are ready and lack something: those from before workers processed files, those that were examined by older rules (MED-30),
 * and those whose renditions could not be made, or were not made then. They are processed a few at a time, beside what is uploaded.
 */
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { examinationVersion, processingRules } from '../media.policy.ts';

/** Wakes the processing of some of them, unless enough files wait already. @returns how many */
export async function processOldFiles(db: Database, now: Date): Promise<number> {
  return db.transaction(async (tx) => {
    const woken = await tx.rows<{ id: Id; clubId: Id }>(sql`
      WITH waiting AS (
        SELECT count(*) AS files FROM (
          SELECT FROM media
           WHERE looks_at IS NOT NULL AND NOT (purpose = 'agent_image' AND status = 'ready' AND looks_at > ${now}) -- has only to be emptied
           LIMIT ${processingRules.caughtUpAtOnce}) queue),
      old AS (
        SELECT id FROM media
         WHERE looks_at IS NULL AND id IN (
           (SELECT id FROM media
             WHERE status = 'ready' AND processed_at IS NULL AND looks_at IS NULL AND removed_at IS NULL AND object_key IS NOT NULL
             ORDER BY id LIMIT ${processingRules.caughtUpAtOnce})
           UNION ALL
           (SELECT id FROM media
             WHERE status = 'ready' AND examined < ${raw(String(examinationVersion))} AND kind IN ('image', 'video')
               AND purpose IN ('library', 'assignment', 'post') AND looks_at IS NULL AND renditions_due_at IS NULL
               AND removed_at IS NULL AND object_key IS NOT NULL
             ORDER BY id LIMIT ${processingRules.caughtUpAtOnce})
           UNION ALL
           (SELECT id FROM media
             WHERE mail_picture IS NULL AND purpose = 'library' AND kind = 'image' AND status = 'ready' AND processed_at IS NOT NULL
               AND object_key IS NOT NULL AND removed_at IS NULL AND looks_at IS NULL
             ORDER BY id LIMIT ${processingRules.caughtUpAtOnce})
           UNION ALL
           (SELECT id FROM media WHERE renditions_due_at <= ${now} AND looks_at IS NULL AND removed_at IS NULL
             ORDER BY renditions_due_at LIMIT ${processingRules.caughtUpAtOnce}))
         LIMIT (SELECT ${processingRules.caughtUpAtOnce} - files FROM waiting) FOR NO KEY UPDATE SKIP LOCKED)
      UPDATE media SET looks_at = ${now} FROM old WHERE media.id = old.id RETURNING media.id, media.club_id AS "clubId"`);
    await wake(tx, 'mediaProcessing', woken, now);
    return woken.length;
  });
}
