/** The student's files in the export of the student: pictures, submitted work, and files of posts and questions (EXP-3). */
import type { ExportStudent } from '../questions.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { picturePurposes } from './processing.policy.ts';

export const exportMedia: ExportStudent = ({ clubId, studentId }) => {
  const own = sql`media.owner_id = ${studentId} AND media.club_id = ${clubId} AND media.removed_at IS NULL`;
  return {
    sections: {
      files: {
        records: sql`
          SELECT id, coalesce(file_name, title) AS name, purpose, mime, size_bytes::float8, status, created_at
            FROM media WHERE ${own} ORDER BY created_at, id`,
      },
    },
    // The object of a picture is empty, because the service keeps only its rendition (MED-22, MED-28).
    files: sql`
      SELECT media.id, coalesce(file_name, title) AS name, coalesce(picture.object_key, media.object_key) AS "objectKey",
             coalesce(picture.size_bytes, media.size_bytes)::float8 AS size,
             CASE WHEN picture.object_key IS NULL THEN crc32::float8 END AS crc32, media.created_at AS "createdAt"
        FROM media LEFT JOIN LATERAL (
               SELECT object_key, size_bytes FROM media_renditions
                WHERE media_id = media.id AND role = 'preview' AND media.purpose = ANY (${picturePurposes})
                ORDER BY version DESC LIMIT 1) picture ON true
       WHERE ${own} AND status = 'ready' AND media.object_key IS NOT NULL AND media.size_bytes IS NOT NULL
       ORDER BY media.created_at, media.id`,
  };
};
