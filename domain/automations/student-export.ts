/** The runs of automations in the export of a student. The names and the steps of automations are internal (EXP-3). */
import type { ExportStudent } from '../questions.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';

export const exportAutomations: ExportStudent = ({ studentId }) => ({
  sections: {
    automation_runs: {
      records: sql`
        SELECT id, status, exit_reason, entered_at, ended_at
          FROM automation_runs WHERE student_id = ${studentId} ORDER BY entered_at, id`,
    },
  },
});
