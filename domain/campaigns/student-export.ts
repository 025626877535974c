/** The mails of campaigns, automations and digests in the export of a student, with their openings and clicks (EXP-3). */
import type { ExportStudent } from '../questions.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';

export const exportCampaigns: ExportStudent = ({ studentId }) => ({
  sections: {
    mails: {
      records: sql`
        SELECT mail.id,
               CASE WHEN mail.campaign_id IS NOT NULL THEN 'campaign' WHEN mail.run_id IS NOT NULL THEN 'automation' ELSE 'digest' END AS kind,
               coalesce(campaign.content ->> 'subject',
                        jsonb_path_query_first(version.definition, '$.** ? (@.id == $step).email.subject',
                                               jsonb_build_object('step', mail.step_id)) #>> '{}') AS subject,
               mail.student_name AS name, mail.student_email AS address, mail.status, mail.skip_reason, mail.created_at, mail.sent_at,
               mail.delivered_at, mail.opened_at, mail.clicked_at, mail.machine_opened_at, mail.machine_clicked_at, mail.bounced_at,
               mail.soft_bounced_at, mail.complained_at
          FROM mails mail
          LEFT JOIN campaigns campaign ON campaign.id = mail.campaign_id
          LEFT JOIN automation_runs run ON run.id = mail.run_id
          LEFT JOIN automation_versions version ON version.id = run.version_id
         WHERE mail.student_id = ${studentId} ORDER BY mail.created_at, mail.id`,
    },
    mail_clicks: {
      records: sql`
        SELECT click.mail_id, link.url, click.machine AS by_machine, click.at AS first_at, click.last_at
          FROM mails mail JOIN mail_clicks click ON click.mail_id = mail.id JOIN mail_links link ON link.id = click.link_id
         WHERE mail.student_id = ${studentId} ORDER BY click.at, click.mail_id, link.position, click.machine`,
    },
  },
});
