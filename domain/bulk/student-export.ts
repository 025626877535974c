/** The bulk jobs that concerned a student, in the export of the student (EXP-3). The note of an award is internal. */
import type { ExportStudent } from '../questions.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';

export const exportBulk: ExportStudent = ({ studentId }) => ({
  sections: {
    bulk_actions: {
      records: sql`
        SELECT reported.job_id, job.action ->> 'kind' AS action, reported.outcome, job.created_at
          FROM bulk_job_rows reported JOIN bulk_jobs job ON job.id = reported.job_id
         WHERE reported.student_id = ${studentId} ORDER BY job.created_at, job.id, reported.row`,
    },
  },
});
