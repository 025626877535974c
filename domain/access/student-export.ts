/** The data of the context `access` in the export of a student (EXP-3). */
import type { ExportStudent } from '../questions.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';

export const exportAccess: ExportStudent = ({ studentId }) => ({
  sections: {
    enrollments: {
      records: sql`
        SELECT enrollment.id, enrollment.delivery_id, delivery.name AS delivery_name, delivery.kind, cohort.name AS cohort_name,
               enrollment.source, enrollment.origin_id, enrollment.starts_at, enrollment.ends_at, enrollment.revoked_at,
               enrollment.revoked_reason, enrollment.superseded_at, enrollment.created_at
          FROM enrollments enrollment
          JOIN access_deliveries delivery ON delivery.id = enrollment.delivery_id
          LEFT JOIN cohorts cohort ON cohort.id = enrollment.cohort_id
         WHERE enrollment.student_id = ${studentId} ORDER BY enrollment.created_at, enrollment.id`,
    },
    registration_links: {
      records: sql`
        SELECT link.code, claim.claimed_at
          FROM registration_link_claims claim JOIN registration_links link ON link.id = claim.link_id
         WHERE claim.student_id = ${studentId} ORDER BY claim.claimed_at, link.id`,
    },
    imports: {
      // The name and the columns of a file may name other people, so they are left out.
      records: sql`
        SELECT imported.import_id, imported.row, imported.outcome, import.created_at
          FROM student_import_rows imported JOIN student_imports import ON import.id = imported.import_id
         WHERE imported.student_id = ${studentId} ORDER BY import.created_at, imported.import_id, imported.row`,
    },
  },
});
