/** The data of the context `identity` in the export of a student (EXP-3). */
import type { ExportStudent } from '../questions.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';

export const exportIdentity: ExportStudent = ({ studentId }) => ({
  sections: {
    profile: {
      records: sql`
        SELECT id, name, email, language, password_hash IS NOT NULL AS has_password, points::float8, opened_by, created_at,
               verified_at AS confirmed_at
          FROM students WHERE id = ${studentId}`,
    },
    sign_in_sessions: {
      records: sql`
        SELECT opened_by, device, network, created_at, last_used_at, expires_at
          FROM student_sessions WHERE student_id = ${studentId} ORDER BY created_at, token_hash`,
    },
    passkeys: {
      records: sql`
        SELECT id, name, is_synced, created_at, last_used_at FROM passkeys WHERE student_id = ${studentId} ORDER BY created_at, id`,
    },
    session_links: {
      records: sql`
        SELECT path, created_at, expires_at FROM session_links WHERE student_id = ${studentId} ORDER BY created_at, token_hash`,
    },
  },
});
