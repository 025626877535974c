/** Starts runs of an automation with the trigger `manual`, for the students whom an administrator chose (AUTO-18). */
import type { RecordOf } from '../../../contract/contract.ts';
import { bulk, type Priority } from '../../../entities/facts/values.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { wakeRuns } from '../../../platform/engine/wakes.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { requireFeature } from '../../billing/allowances.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { findAutomation } from '../records.ts';
import { enter, shareOpen, type Entry } from './entering.ts';

/** Small, because other transactions wait for these locks. */
const studentsPerPage = 100;

export interface EnteringDeps extends DatabaseDeps {
  /** The factor by which waits are shortened; 1 if absent. */
  waitSpeed?: number;
}

type Result = RecordOf<'AutomationEnrollment'>['results'][number];

/**
 * Starts a run for each student, page by page. A repeated request with this `id` starts no second run for a student.
 * @throws DomainError not_found, feature_not_in_plan, automation_state, automation_not_manual
 */
export async function enrollByHand(
  { db, waitSpeed }: EnteringDeps,
  clubId: Id,
  automationId: Id,
  { id, student_ids: studentIds }: { id: Id; student_ids: readonly Id[] },
  now: Date,
): Promise<RecordOf<'AutomationEnrollment'>> {
  const automation = await findAutomation(db, clubId, automationId);
  if (automation.triggerKind !== 'manual')
    throw new DomainError(
      'automation_not_manual',
      'Students can be entered by hand only if the trigger of the automation is manual.',
    );
  await requireFeature(db, clubId, 'automations');
  requireActive(automation.status);
  const results = new Map<Id, Result['result']>();
  const sorted = [...new Set(studentIds)].toSorted();
  for (let from = 0; from < sorted.length; from += studentsPerPage)
    for (const [studentId, entry] of await enterPage(
      db,
      clubId,
      automationId,
      { id, page: sorted.slice(from, from + studentsPerPage), waitSpeed },
      now,
    ))
      results.set(studentId, entry);
  return {
    results: studentIds.map((studentId) => ({ student_id: studentId, result: results.get(studentId) ?? 'not_found' })),
  };
}

function requireActive(status: string): void {
  if (status !== 'active')
    throw new DomainError('automation_state', `The automation is ${status} and accepts no students.`);
}

function enterPage(
  db: Database,
  clubId: Id,
  automationId: Id,
  { id, page, waitSpeed }: { id: Id; page: readonly Id[]; waitSpeed: number | undefined },
  now: Date,
): Promise<Map<Id, Entry>> {
  return db.transaction(async (tx) => {
    const students = await tx.rows<{ id: Id }>(sql`SELECT id FROM students
      WHERE id = ANY(${page}) AND club_id = ${clubId} AND removed_at IS NULL ORDER BY id FOR NO KEY UPDATE`);
    const automation = await shareOpen(tx, automationId, waitSpeed);
    if (automation?.version.definition.trigger.kind !== 'manual') {
      requireActive('paused'); // the automation was paused, archived or published again after the request began
      return new Map();
    }
    const entrants = students.map((student) => ({
      studentId: student.id,
      causeId: id,
      priority: bulk as Priority,
      access: undefined,
      links: [],
    }));
    const { entries, runs } = await enter(tx, automation, entrants, now);
    await wakeRuns(tx, runs, now);
    return entries;
  });
}
