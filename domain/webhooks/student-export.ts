/** The events about a student that receivers of the club got, in the export of the student (EXP-3). */
import type { ExportStudent } from '../questions.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';

export const exportWebhooks: ExportStudent = ({ studentId }) => ({
  sections: {
    events: {
      records: sql`
        SELECT event.id, event.type, event.occurred_at, coalesce(acknowledged.receivers, 0) AS receivers
          FROM webhook_events event
          LEFT JOIN (SELECT event_id, count(*)::int AS receivers FROM webhook_deliveries
                      WHERE student_id = ${studentId} AND status = 'succeeded' GROUP BY event_id) acknowledged
            ON acknowledged.event_id = event.id
         WHERE event.student_id = ${studentId} ORDER BY event.occurred_at, event.id`,
    },
  },
});
