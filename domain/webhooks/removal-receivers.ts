/** The receivers that the service still tells about the removal of a student (ERS-24). */
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { RemainsOfPerson } from '../questions.ts';
import { deliveryRules } from './deliveries/schedule.policy.ts';

/**
 * Counts the pending deliveries of `student.removed`. A fact that is not fanned out yet counts as one. After the time in which each delivery
 * ends or expires, nothing counts any more (STATE-13).
 */
export const countOpenReceivers: RemainsOfPerson = async ({ db }, { kind, clubId, subjectId, requestedAt }, now) => {
  if (kind !== 'student' || now.getTime() > requestedAt.getTime() + deliveryRules.expiryMs) return {};
  const row = await db.one<{ receivers: number }>(sql`
    SELECT (SELECT count(*) FROM facts WHERE club_id = ${clubId} AND student_id = ${subjectId} AND type = 'student.removed')::int
         + (SELECT count(*) FROM webhook_deliveries
             WHERE student_id = ${subjectId} AND event_type = 'student.removed' AND status = 'pending')::int AS receivers`);
  return { receivers: row?.receivers ?? 0 };
};
