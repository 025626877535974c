/** The exports of a student, in the export of the student (EXP-3). */
import type { ExportStudent } from '../../questions.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';

export const exportExports: ExportStudent = ({ studentId }) => ({
  sections: {
    exports: {
      records: sql`
        SELECT id, requested_by, status, created_at FROM student_exports WHERE student_id = ${studentId} ORDER BY created_at, id`,
    },
  },
});
