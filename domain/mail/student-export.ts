/** The data of the context `mail` in the export of a student (EXP-3). The context `campaigns` has the mails of campaigns. */
import type { ExportStudent } from '../questions.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';

export const exportMail: ExportStudent = ({ clubId, studentId }) => ({
  sections: {
    mail_preferences: {
      records: sql`
        SELECT left_campaigns_at, left_automations_at, left_digests_at, reason, created_at
          FROM mail_suppressions
         WHERE club_id = ${clubId} AND address_key = (SELECT email_key FROM students WHERE id = ${studentId})`,
    },
    service_mails: {
      records: sql`
        SELECT id, template AS kind, status, device, network, created_at, sent_at
          FROM transactional_mails WHERE student_id = ${studentId} ORDER BY created_at, id`,
    },
  },
});
