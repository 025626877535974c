/** Ends the automations and the runs of a club that is erased. */
import type { Id } from '../../platform/core/ids.ts';
import { wake } from '../../platform/engine/wakes.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { CloseClub } from '../questions.ts';
import { endRun, runColumns, type RunRow } from './running/moves.ts';
import { archiveAutomation } from './states.ts';

const runsPerBatch = 100;

/** Archives each automation, so that no run begins. Then ends the runs in batches, and does not wait for the gate. */
export const closeAutomations: CloseClub = async ({ db }, clubId, now) => {
  const open = await db.one<{ id: Id }>(
    sql`SELECT id FROM automations WHERE club_id = ${clubId} AND status <> 'archived' ORDER BY id LIMIT 1`,
  );
  if (open) {
    await archiveAutomation({ db }, clubId, open.id, now);
    return { more: true };
  }
  return db.transaction(async (tx) => {
    const active = await tx.rows<{
      id: Id;
      studentId: Id;
    }>(sql`SELECT id, student_id AS "studentId" FROM automation_runs
      WHERE automation_id IN (SELECT id FROM automations WHERE club_id = ${clubId}) AND status = 'active' LIMIT ${runsPerBatch}`);
    // The students are locked before the runs, in the order of their ids (ENG-6).
    await tx.run(sql`SELECT FROM students
      WHERE id = ANY (${active.map(({ studentId }) => studentId)}) ORDER BY id FOR NO KEY UPDATE`);
    const runs = await tx.rows<RunRow>(sql`SELECT ${runColumns} FROM automation_runs run
      WHERE run.id = ANY (${active.map(({ id }) => id)}) AND run.status = 'active' ORDER BY run.id FOR NO KEY UPDATE`);
    for (const run of runs) await endRun(tx, run, { status: 'exited', reason: 'archived' }, now);
    await wake(tx, 'automationRun', runs, now);
    return { more: active.length === runsPerBatch };
  });
};
