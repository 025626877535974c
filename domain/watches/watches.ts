/**
 * Wakes the runs of automations that wait for a change, and protects the records that automations use. A context calls this module for a
 * change that records no fact (AUTO-12).
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

/** The columns of a run that a wake needs. */
export const runSubject = columns(AutomationRun, ['id', 'clubId', 'automationId', 'versionId', 'priority'], 'run');

/**
 * Wakes the student's automation runs that are between two steps, and the runs that wait for a fact of these types. All other runs sleep
 * until
 * their deadline (ADR 24). A paused run is not woken, because it checks the current state when its pause ends.
 * @param types the type of the fact, or of the condition that this change may satisfy
 * @param ofRun the run whose step made the change. This run is not woken, because it always checks the current state after its step has
 * committed
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

/** Wakes one run, for example because its e-mail was opened. */
export async function wakeRun(tx: Transaction, runId: Id, now: Date): Promise<void> {
  await lookNow(tx, sql`run.id = ${runId}`, now);
}

/** Locks runs by id, so that concurrent wakes cause no deadlock. */
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
 * The maximum number of waiting wakes with normal priority for the runs of one club. Further wakes get the priority bulk, and the relay
 * sends only some of these wakes each second. So a fact of one student takes effect immediately, and a tag for 5,000 students does not
 * overload the engine
 * (AUTO-20).
 */
const fewWaiting = 16;

/** Wakes runs of one club, which also starts new runs. */
export async function wakeAtPace(tx: Transaction, runs: readonly Run[], now: Date): Promise<void> {
  const [first] = runs;
  if (!first) return;
  const queue = await tx.one<{ waiting: number }>(sql`SELECT count(*)::int AS waiting FROM (
    SELECT FROM wakes WHERE club_id = ${first.clubId} AND workflow_type = 'automationRun' LIMIT ${fewWaiting}) AS few`);
  const normal = fewWaiting - (queue?.waiting ?? 0);
  await wakeRuns(
    tx,
    runs.map((run, index) => (index < normal ? run : { ...run, priority: bulk })),
    now,
  );
}

/** Records that lessons of a course were published or withdrawn. The runs that watch the course are woken later, in pages. */
export async function noteCourseChanged(tx: Transaction, courseId: Id, now: Date): Promise<void> {
  await tx.run(sql`INSERT INTO automation_course_looks (course_id, after_id, changed_at)
    SELECT ${courseId}::uuid, ${noClub}::uuid, ${now} WHERE EXISTS (SELECT FROM automation_course_watches WHERE course_id = ${courseId})
    ON CONFLICT (course_id) DO UPDATE SET after_id = excluded.after_id, changed_at = excluded.changed_at`);
}

const runsPerPage = 200;

/** Wakes a page of the runs that watch a changed course. @returns the number of woken runs, and whether more runs must be woken */
export async function wakeWatchersOfCourses(db: Database, now: Date): Promise<{ woken: number; more: boolean }> {
  return db.transaction(async (tx) => {
    const look = await tx.one<{ courseId: Id; afterId: Id }>(sql`SELECT course_id AS "courseId", after_id AS "afterId"
      FROM automation_course_looks ORDER BY changed_at LIMIT 1 FOR UPDATE SKIP LOCKED`);
    if (!look) return { woken: 0, more: false };
    const page = await tx.rows<{ id: Id }>(sql`SELECT run_id AS id FROM automation_course_watches
      WHERE course_id = ${look.courseId} AND run_id > ${look.afterId} ORDER BY run_id LIMIT ${runsPerPage}`);
    const last = page.at(-1);
    const woken = last === undefined ? 0 : await lookNow(tx, sql`run.id = ANY(${page.map(({ id }) => id)})`, now);
    if (last === undefined || page.length < runsPerPage)
      await tx.run(sql`DELETE FROM automation_course_looks WHERE course_id = ${look.courseId}`);
    else await tx.run(sql`UPDATE automation_course_looks SET after_id = ${last.id} WHERE course_id = ${look.courseId}`);
    return { woken, more: true };
  });
}

/**
 * Refuses the deletion of a record that an automation uses. The caller has locked the record before, and a publication with this record
 * waits for the lock.
 * @throws DomainError in_use if a published version, or a version with active runs, names the record
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
  if (user) throw new DomainError('in_use', `A published or running automation uses this ${kind}.`);
}
