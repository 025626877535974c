/** Ends the mentorships of a member who leaves the club: archives them, and cancels the coming sessions (ERS-42). */
import type { Id } from '../../platform/core/ids.ts';
import { wake } from '../../platform/engine/wakes.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';

/**
 * The runs of the sessions mail the students. A booking locks the mentorship before it inserts a session. So this function sees every
 * session of a booking that it waits for, and a later booking finds no mentor. Sessions are locked in the order of their ids.
 */
export async function endMentoring(
  tx: Transaction,
  { clubId, administratorId }: { clubId: Id; administratorId: Id },
  now: Date,
): Promise<void> {
  await tx.run(sql`
    SELECT FROM mentorships WHERE club_id = ${clubId} AND mentor_id = ${administratorId} ORDER BY id FOR NO KEY UPDATE`);
  await tx.run(sql`
    UPDATE mentorships SET status = 'archived', updated_at = ${now}
     WHERE club_id = ${clubId} AND mentor_id = ${administratorId} AND status <> 'archived'`);
  const coming = await tx.rows<{ id: Id }>(sql`
    SELECT id FROM mentorship_sessions
     WHERE club_id = ${clubId} AND mentor_id = ${administratorId} AND status = 'booked' AND starts_at > ${now}
     ORDER BY id FOR NO KEY UPDATE`);
  if (coming.length === 0) return;
  await tx.run(sql`
    UPDATE mentorship_sessions
       SET status = 'canceled', sequence = sequence + 1, canceled_at = ${now}, canceled_by = 'club', looks_at = ${now}, updated_at = ${now}
     WHERE id = ANY (${coming.map(({ id }) => id)}::uuid[])`);
  await wake(
    tx,
    'mentorshipSession',
    coming.map(({ id }) => ({ id, clubId })),
    now,
  );
}
