/**
 * What runs of automations wait for, and who must not be deleted for them: for contexts below automations, whose changes matter to
 * runs and have no fact (AUTO-12).
 */
import { bulk } from '../../entities/facts/values.ts';
import { AutomationRun } from '../../entities/automations/automation-run.ts';
import type { ReferredKind } from '../../entities/automations/values.ts';
import type { EventType } from '../../platform/core/event-types.ts';
import { DomainError } from '../../platform/core/errors.ts';
import { noClub, type Id } from '../../platform/core/ids.ts';
import { wakeRuns } from '../../platform/engine/wakes.ts';
import { runOf, type Run, type Subject } from '../../platform/engine/workflow-types.ts';
import type { Database, Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { columns, sql, type Sql } from '../../platform/infra/postgres/sql.ts';

/** What a wake needs of a run. */
export const runSubject = columns(AutomationRun, ['id', 'clubId', 'automationId', 'versionId', 'priority'], 'run');

/**
 * Makes runs look again: those that stand between two steps, and those that wait for such a fact. Others sleep on until their
 * deadline (ADR 24). Runs that a pause holds look when it ends.
 * @param types of a fact, or the one whose condition this change can turn
 * @param ofRun the run whose step it was: between two steps it looks anyway, after the commit of that step
 */
export async function wakeRunsOf(
  tx: Transaction,
  studentId: Id,
  types: readonly EventType[],
  now: Date,
  ofRun?: Id,
): Promise<void> {
  const isOwn = sql`run.id = ${ofRun ?? noClub}`;
  const which = sql`run.student_id = ${studentId} AND (NOT (run.waiting OR ${isOwn}) OR run.watches && ${types}::text[])`;
  await lookNow(tx, which, now);
}

/** Makes one run look again, as when its e-mail was opened. */
export async function wakeRun(tx: Transaction, runId: Id, now: Date): Promise<void> {
  await lookNow(tx, sql`run.id = ${runId}`, now);
}

/** Runs are locked in the order of their ids, so that two who wake the same ones do not wait in a circle. */
async function lookNow(tx: Transaction, which: Sql, now: Date): Promise<number> {
  const runs = await tx.rows<Subject<'automationRun'>>(sql`
    UPDATE automation_runs run SET looks_at = least(run.looks_at, ${now})
      FROM (SELECT run.id FROM automation_runs run
             WHERE ${which} AND run.status = 'active' AND run.parked_at IS NULL ORDER BY run.id FOR NO KEY UPDATE) AS found
     WHERE run.id = found.id RETURNING ${runSubject}`);
  await wakeAtPace(
    tx,
    runs.map((run) => runOf('automationRun', run)),
    now,
  );
  return runs.length;
}

/**
 * Wakes of a club's runs that may wait before the others count as bulk, of which a relay sends some a second: a fact
 * of one student moves on at once, and a tag for 5,000 does not fill the engine (AUTO-20).
 */
const fewWaiting = 16;

/** Wakes runs of one club, which also starts new ones. */
export async function wakeAtPace(tx: Transaction, runs: readonly Run[], now: Date): Promise<void> {
  const [first] = runs;
  if (!first) return;
  const found = await tx.one<{ waiting: number }>(sql`SELECT count(*)::int AS waiting FROM (
    SELECT FROM wakes WHERE club_id = ${first.clubId} AND workflow_type = 'automationRun' LIMIT ${fewWaiting}) AS few`);
  const atOnce = fewWaiting - (found?.waiting ?? 0);
  await wakeRuns(
    tx,
    runs.map((run, place) => (place < atOnce ? run : { ...run, priority: bulk })),
    now,
  );
}

/** Lessons of a course were published or withdrawn: runs that watch it are woken later, in pages. */
export async function noteCourseChanged(tx: Transaction, courseId: Id, now: Date): Promise<void> {
  await tx.run(sql`INSERT INTO automation_course_looks (course_id, after_id, changed_at)
    SELECT ${courseId}::uuid, ${noClub}::uuid, ${now} WHERE EXISTS (SELECT FROM automation_course_watches WHERE course_id = ${courseId})
    ON CONFLICT (course_id) DO UPDATE SET after_id = excluded.after_id, changed_at = excluded.changed_at`);
}

const wokenAtOnce = 200;

/** Wakes a page of the runs that watch a changed course. @returns how many, and whether there are more */
export async function wakeWatchersOfCourses(db: Database, now: Date): Promise<{ woken: number; more: boolean }> {
  return db.transaction(async (tx) => {
    const look = await tx.one<{ courseId: Id; afterId: Id }>(sql`SELECT course_id AS "courseId", after_id AS "afterId"
      FROM automation_course_looks ORDER BY changed_at LIMIT 1 FOR UPDATE SKIP LOCKED`);
    if (!look) return { woken: 0, more: false };
    const page = await tx.rows<{ id: Id }>(sql`SELECT run_id AS id FROM automation_course_watches
      WHERE course_id = ${look.courseId} AND run_id > ${look.afterId} ORDER BY run_id LIMIT ${wokenAtOnce}`);
    const last = page.at(-1);
    const woken = last === undefined ? 0 : await lookNow(tx, sql`run.id = ANY(${page.map(({ id }) => id)})`, now);
    if (last === undefined || page.length < wokenAtOnce)
      await tx.run(sql`DELETE FROM automation_course_looks WHERE course_id = ${look.courseId}`);
    else await tx.run(sql`UPDATE automation_course_looks SET after_id = ${last.id} WHERE course_id = ${look.courseId}`);
    return { woken, more: true };
  });
}

/**
 * For the deletion of a record: the caller has locked it, and publishing a version that names it waits for that lock.
 * @throws DomainError in_use where a published version, or one with active runs, names it
 */
export async function requireUnnamed(db: Queries, kind: ReferredKind, id: Id): Promise<void> {
  const user = await db.one(sql`SELECT 1
      FROM automation_references reference
      JOIN automation_versions version ON version.id = reference.version_id
      JOIN automations automation ON automation.id = version.automation_id
     WHERE reference.referred_id = ${id}
       AND ((automation.published_id = version.id AND automation.status IN ('active', 'paused'))
         OR EXISTS (SELECT FROM automation_runs run WHERE run.version_id = version.id AND run.status = 'active'))
     LIMIT 1`);
  if (user) throw new DomainError('in_use', `An automation that is published, or under way, names this ${kind}.`);
}
