/** The sessions in the export of a student. The mentor is not named (EXP-3). */
import type { ExportStudent } from '../questions.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';

export const exportMentorships: ExportStudent = ({ studentId }) => ({
  sections: {
    mentorship_sessions: {
      records: sql`
        SELECT session.id, mentorship.title AS mentorship_title, session.status, session.starts_at, session.ends_at,
               nullif(session.agenda, '') AS agenda, session.booked_at, session.canceled_at, session.canceled_by,
               nullif(session.cancel_reason, '') AS cancel_reason, session.rating, nullif(session.rating_comment, '') AS rating_comment,
               session.rated_at
          FROM mentorship_sessions session JOIN mentorships mentorship ON mentorship.id = session.mentorship_id
         WHERE session.student_id = ${studentId} ORDER BY session.booked_at, session.id`,
    },
  },
});
