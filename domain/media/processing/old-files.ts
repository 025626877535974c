/**
 * Processes ready files again if a part of their processing is missing: files of old releases, files that were examined by older rules
 * (MED-30), and files that lack a rendition. Only a few files are processed at a time, in addition to new uploads.
 */
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { examinationVersion, processingRules } from '../processing.policy.ts';

/** Wakes the processing of some old files, unless enough files already wait. @returns the number of woken files */
export async function processOldFiles(db: Database, now: Date): Promise<number> {
  return db.transaction(async (tx) => {
    const wokenFiles = await tx.rows<{ id: Id; clubId: Id }>(sql`
      WITH waiting AS (
        SELECT count(*) AS files FROM (
          SELECT FROM media
           WHERE looks_at IS NOT NULL AND NOT (purpose = 'agent_image' AND status = 'ready' AND looks_at > ${now}) -- for such an image, only the object of the original must still be emptied
           LIMIT ${processingRules.maxOldFiles}) queue),
      old AS (
        SELECT id FROM media
         WHERE looks_at IS NULL AND id IN (
           (SELECT id FROM media
             WHERE status = 'ready' AND processed_at IS NULL AND looks_at IS NULL AND removed_at IS NULL AND object_key IS NOT NULL
             ORDER BY id LIMIT ${processingRules.maxOldFiles})
           UNION ALL
           (SELECT id FROM media
             WHERE status = 'ready' AND examined < ${raw(String(examinationVersion))} AND kind IN ('image', 'video')
               AND purpose IN ('library', 'assignment', 'post') AND looks_at IS NULL AND renditions_due_at IS NULL
               AND removed_at IS NULL AND object_key IS NOT NULL
             ORDER BY id LIMIT ${processingRules.maxOldFiles})
           UNION ALL
           (SELECT id FROM media
             WHERE mail_picture IS NULL AND purpose = 'library' AND kind = 'image' AND status = 'ready' AND processed_at IS NOT NULL
               AND object_key IS NOT NULL AND removed_at IS NULL AND looks_at IS NULL
             ORDER BY id LIMIT ${processingRules.maxOldFiles})
           UNION ALL
           (SELECT id FROM media WHERE renditions_due_at <= ${now} AND looks_at IS NULL AND removed_at IS NULL
             ORDER BY renditions_due_at LIMIT ${processingRules.maxOldFiles}))
         LIMIT (SELECT ${processingRules.maxOldFiles} - files FROM waiting) FOR NO KEY UPDATE SKIP LOCKED)
      UPDATE media SET looks_at = ${now} FROM old WHERE media.id = old.id RETURNING media.id, media.club_id AS "clubId"`);
    await wake(tx, 'mediaProcessing', wokenFiles, now);
    return wokenFiles.length;
  });
}
