/**
 * The step of the workflow `automation-gate/<id>`. When a paused automation is resumed, the step wakes the held runs page by page, and each
 * page is larger than the one before. If the automation was archived, the step wakes all runs, so that they end (AUTO-17).
 */
import type { AutomationStatus } from '../../entities/automations/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import { runOf, type Subject } from '../../platform/engine/workflow-types.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../platform/infra/postgres/sql.ts';
import { runSubject, wakeAtPace } from '../watches/watches.ts';

export type GateStep = { done: true; outcome: AutomationStatus } | { done: false; at: number; released: number };

const largestPage = 64;
/** Lets an administrator see the effects of one page before the next page starts. */
const betweenPagesMs = 1_000;

/** @param now Unix milliseconds */
export async function tendAutomationGate({ db }: { db: Database }, automationId: Id, now: number): Promise<GateStep> {
  const at = new Date(now);
  return db.transaction(async (tx) => {
    const gate = await tx.one<{ status: AutomationStatus; page: number; looksAt: Date | null }>(sql`
      SELECT status, gate_page AS page, gate_looks_at AS "looksAt" FROM automations WHERE id = ${automationId} FOR NO KEY UPDATE`);
    if (!gate || gate.looksAt === null) return { done: true, outcome: gate?.status ?? 'archived' };
    if (gate.looksAt > at) return { done: false, at: gate.looksAt.getTime(), released: 0 };
    // If the automation is archived, the gate also wakes runs that wait for a later time. Otherwise it wakes only the runs that the pause
    // stopped.
    const which =
      gate.status === 'archived' ? sql`(parked_at IS NOT NULL OR looks_at > ${at})` : raw('parked_at IS NOT NULL');
    const runs = await tx.rows<Subject<'automationRun'>>(sql`
      UPDATE automation_runs run SET looks_at = ${at}, parked_at = NULL
        FROM (SELECT id FROM automation_runs WHERE automation_id = ${automationId} AND status = 'active' AND ${which}
               ORDER BY id LIMIT ${gate.page} FOR NO KEY UPDATE) AS page
       WHERE run.id = page.id RETURNING ${runSubject}`);
    await wakeAtPace(
      tx,
      runs.map((run) => runOf('automationRun', run)),
      at,
    );
    if (runs.length === 0) {
      await tx.run(sql`UPDATE automations SET gate_looks_at = NULL WHERE id = ${automationId}`);
      return { done: true, outcome: gate.status };
    }
    const next = new Date(now + betweenPagesMs);
    await tx.run(
      sql`UPDATE automations SET gate_looks_at = ${next}, gate_page = least(${largestPage}, gate_page * 2) WHERE id = ${automationId}`,
    );
    return { done: false, at: next.getTime(), released: runs.length };
  });
}
