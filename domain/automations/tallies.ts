/**
 * Counts the runs of an automation, in total and at each step. The counts are exact, and read only a few rows even with very many runs (ADR
 * 10, ADR 11).
 */
import type { Id } from '../../platform/core/ids.ts';
import type { Database, Queries } from '../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../platform/infra/postgres/sql.ts';

/** @returns the number of active runs and the number of all runs of each automation */
export async function countRuns(
  db: Queries,
  automations: readonly { id: Id; clubId: Id }[],
): Promise<Map<Id, { active: number; total: number }>> {
  const [first] = automations;
  if (!first) return new Map();
  const where = sql`club_id = ${first.clubId} AND subject_id = ANY(${automations.map(({ id }) => id)})
    AND list IN ('automation_runs_active', 'automation_runs_completed', 'automation_runs_exited', 'automation_runs_failed')`;
  const rows = await db.rows<{ id: Id; active: number; total: number }>(sql`
    SELECT subject_id AS id, sum(records)::int AS total,
           coalesce(sum(records) FILTER (WHERE list = 'automation_runs_active'), 0)::int AS active
      FROM (SELECT subject_id, list, records FROM list_tallies WHERE ${where}
            UNION ALL SELECT subject_id, list, records FROM list_tally_changes WHERE ${where}) AS counted
     GROUP BY 1`);
  return new Map(rows.map(({ id, active, total }) => [id, { active, total }]));
}

const countColumns = raw('entered, departed, sent, opened, clicked');

export interface StepCount {
  stepId: string;
  entered: number;
  departed: number;
  sent: number;
  opened: number;
  clicked: number;
}

/** @returns the counts of each step of the version; a step that no run has entered is absent */
export async function countSteps(db: Queries, versionId: Id): Promise<StepCount[]> {
  return db.rows<StepCount>(sql`
    SELECT step_id AS "stepId", sum(entered)::int AS entered, sum(departed)::int AS departed, sum(sent)::int AS sent,
           sum(opened)::int AS opened, sum(clicked)::int AS clicked
      FROM (SELECT step_id, ${countColumns} FROM automation_step_tallies WHERE version_id = ${versionId}
            UNION ALL SELECT step_id, ${countColumns} FROM automation_step_changes WHERE version_id = ${versionId}) AS counts
     GROUP BY 1`);
}

/** Adds at most `limit` rows of `automation_step_changes` to the stored counts of steps, in any order. */
export async function rollUpSteps(db: Database, limit: number): Promise<number> {
  return db.transaction(async (tx) => {
    const result = await tx.one<{ changes: number }>(sql`
      WITH taken AS (
        DELETE FROM automation_step_changes
         WHERE ctid = ANY (ARRAY (SELECT ctid FROM automation_step_changes LIMIT ${limit} FOR UPDATE SKIP LOCKED))
     RETURNING *),
      folded AS (
        INSERT INTO automation_step_tallies AS tally (version_id, step_id, ${countColumns})
        SELECT version_id, step_id, sum(entered), sum(departed), sum(sent), sum(opened), sum(clicked)
          FROM taken GROUP BY 1, 2 ORDER BY 1, 2
        ON CONFLICT (version_id, step_id) DO UPDATE
           SET entered = tally.entered + excluded.entered, departed = tally.departed + excluded.departed, sent = tally.sent + excluded.sent,
               opened = tally.opened + excluded.opened, clicked = tally.clicked + excluded.clicked)
      SELECT count(*)::int AS changes FROM taken`);
    return result?.changes ?? 0;
  });
}
