/** Changes a run's row, so that the run continues, waits, is held, or ends. The caller holds the lock of the row (AUTO-10). */
import { v5 } from 'uuid';
import { AutomationRun } from '../../../entities/automations/automation-run.ts';
import type { ExitReason } from '../../../entities/automations/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { columns, raw, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import { nextLook, sleepsAt, watchOf } from '../interpreter.policy.ts';
import { deadlineOnEntry, type WaitClock } from '../wait-speed.policy.ts';
import type { ReadVersion } from './version-cache.ts';

export const runColumns = columns(
  AutomationRun,
  [
    'id',
    'clubId',
    'automationId',
    'versionId',
    'studentId',
    'status',
    'exitReason',
    'errorCode',
    'priority',
    'accessKind',
    'accessId',
    'wasOpen',
    'links',
    'cursor',
    'deadline',
    'waiting',
    'looksAt',
    'parkedAt',
    'enteredAt',
    'endedAt',
  ],
  'run',
);
export type RunRow = RowOf<typeof runColumns>;

/** Locks the run. The caller has already locked the student and the automation. */
export async function lockRun(tx: Transaction, runId: Id): Promise<RunRow | undefined> {
  return tx.one<RunRow>(sql`SELECT ${runColumns} FROM automation_runs run WHERE run.id = ${runId} FOR NO KEY UPDATE`);
}

/** The student of the run. The caller has locked the student's row. */
export interface Recipient {
  name: string;
  email: string;
  confirmed: boolean;
  /** The student signed up but never confirmed, so no e-mail goes to the address (DEC-62). */
  pending: boolean;
}

export interface LockedLook {
  run: RunRow;
  /** The student of the run. Undefined if the student was removed. */
  student: Recipient | undefined;
  automation: AutomationState;
}

const lookColumns = sql`${runColumns}, student.name AS "studentName", student.email AS "studentEmail",
  student.removed_at IS NOT NULL AS removed, student.verified_at IS NOT NULL AS confirmed,
  student.verified_at IS NULL AND student.opened_by = 'sign_up' AS pending,
  automation.status AS "automationStatus", club.time_zone AS "timeZone"`;

/** Postgres acquires the locks in the order of these clauses. */
const lockForLook = prepared<
  RunRow & {
    studentName: string;
    studentEmail: string | null;
    removed: boolean;
    confirmed: boolean;
    pending: boolean;
    automationStatus: AutomationState['status'];
    timeZone: string;
  },
  { runId: Id }
>(
  'lock_look',
  (value) => `SELECT ${lookColumns.render([])}
     FROM automation_runs run JOIN students student ON student.id = run.student_id
     JOIN automations automation ON automation.id = run.automation_id JOIN clubs club ON club.id = automation.club_id
    WHERE run.id = ${value.runId} AND run.status = 'active'
      FOR NO KEY UPDATE OF student FOR SHARE OF automation FOR NO KEY UPDATE OF run`,
);

/** Locks the student, the automation (shared) and the run, in this order, in one statement. @returns undefined if the run is not active */
export async function lockLook(tx: Transaction, runId: Id): Promise<LockedLook | undefined> {
  const [row] = await lockForLook(tx, { runId });
  if (!row) return undefined;
  const {
    studentName: name,
    studentEmail: email,
    removed,
    confirmed,
    pending,
    automationStatus,
    timeZone,
    ...run
  } = row;
  return {
    run,
    student: removed || email === null ? undefined : { name, email, confirmed, pending },
    automation: { status: automationStatus, timeZone },
  };
}

/** Returns the idempotency key for the effect of a step in a run. */
export const effectKey = ({ id }: Pick<RunRow, 'id'>, stepId: string): Id => v5(stepId, id);

export interface Passed {
  stepId: string;
  outcome: string;
  answers?: readonly boolean[];
}

/** Adds the step to the run's path, or completes the existing entry if the run waited at the step. */
export async function passStep(tx: Transaction, run: RunRow, passed: Passed, now: Date): Promise<void> {
  const { stepId, outcome, answers = null } = passed;
  await tx.run(sql`INSERT INTO automation_run_steps AS step (id, run_id, version_id, step_id, entered_at, left_at, outcome, answers)
    VALUES (${newId()}, ${run.id}, ${run.versionId}, ${stepId}, ${now}, ${now}, ${outcome}, ${answers})
    ON CONFLICT (run_id, step_id) DO UPDATE SET left_at = excluded.left_at, outcome = excluded.outcome, answers = excluded.answers`);
}

/** Adds to the run's path the step at which the run now waits. */
export async function enterStep(
  tx: Transaction,
  run: RunRow,
  stepId: string,
  { deadline, outcome = null }: { deadline: Date | null; outcome?: string | null },
  now: Date,
): Promise<void> {
  await tx.run(sql`INSERT INTO automation_run_steps AS step (id, run_id, version_id, step_id, entered_at, deadline, outcome)
    VALUES (${newId()}, ${run.id}, ${run.versionId}, ${stepId}, ${now}, ${deadline}, ${outcome})
    ON CONFLICT (run_id, step_id) DO UPDATE SET deadline = excluded.deadline, outcome = excluded.outcome`);
}

export interface Rest {
  looksAt: Date;
  waiting: boolean;
}

/** The values that decide the wait at the next step. */
export interface Scene extends WaitClock {
  /** The next time at which the student's access begins or ends because of its dates. */
  nextChange: Date | null;
  now: Date;
}

/**
 * Moves the run from the completed step to the next step, and returns when the run must be evaluated again. A run enters a simple wait
 * immediately. A step with a condition must be evaluated first.
 * @param to null completes the run
 */
export async function advance(
  tx: Transaction,
  run: RunRow,
  version: ReadVersion,
  to: string | null,
  { nextChange, now, ...clock }: Scene,
): Promise<Rest | undefined> {
  await forgetWatches(tx, run, version);
  if (to === null) {
    await endRun(tx, run, { status: 'completed' }, now);
    return undefined;
  }
  const placed = version.steps.get(to);
  const deadline = placed ? deadlineOnEntry(placed.step, clock, now) : null;
  const movedRun = { ...run, cursor: to, deadline };
  if (!placed || deadline === null || !sleepsAt(placed))
    return settle(tx, run, movedRun, { looksAt: now, waiting: false }, []);
  await enterStep(tx, run, to, { deadline }, now);
  return rest(tx, movedRun, version, { until: deadline, nextChange, from: run });
}

/** Makes a run wait at its step until the deadline. If the run watches access, it also wakes when access begins or ends by its dates. */
export async function rest(
  tx: Transaction,
  run: RunRow,
  version: ReadVersion,
  { until, nextChange, from = run }: { until: Date; nextChange: Date | null; from?: RunRow },
): Promise<Rest> {
  const placed = version.steps.get(run.cursor ?? '');
  const watch = placed ? watchOf(version.definition, placed) : { types: [], courses: [], access: false };
  const looksAt = nextLook(watch, until, nextChange);
  if (watch.courses.length > 0)
    await tx.run(sql`INSERT INTO automation_course_watches (course_id, run_id)
      SELECT course_id, ${run.id} FROM unnest(${watch.courses}::uuid[]) AS course_id ON CONFLICT DO NOTHING`);
  return settle(tx, from, run, { looksAt, waiting: true }, watch.types);
}

async function settle(
  tx: Transaction,
  from: RunRow,
  to: RunRow,
  next: Rest,
  watches: readonly string[],
): Promise<Rest> {
  const updatedRows = await tx.run(sql`UPDATE automation_runs
       SET cursor = ${to.cursor}, deadline = ${to.deadline}, was_open = ${to.wasOpen}, waiting = ${next.waiting}, watches = ${watches},
           looks_at = ${next.looksAt}, parked_at = NULL
     WHERE id = ${to.id} AND status = 'active' AND cursor = ${from.cursor}`);
  if (updatedRows === 0)
    throw new Error(`Run ${to.id} has another cursor than ${from.cursor}, although its row is locked`);
  return next;
}

/** Records that the student has the access for which the run was started. The caller uses this function if the run does not move. */
export async function noteOpen(tx: Transaction, { id }: RunRow): Promise<void> {
  await tx.run(sql`UPDATE automation_runs SET was_open = true WHERE id = ${id}`);
}

/** Holds the run while its automation is paused. When the automation is resumed, the gate releases the run. */
export async function holdRun(tx: Transaction, run: RunRow, now: Date): Promise<void> {
  await tx.run(sql`UPDATE automation_runs SET looks_at = NULL, parked_at = coalesce(parked_at, ${now}), was_open = ${run.wasOpen}
    WHERE id = ${run.id} AND status = 'active'`);
}

export type Ending =
  | { status: 'completed' }
  | { status: 'exited'; reason: ExitReason }
  | { status: 'failed'; code: string };

/** Ends an active or failed run. An e-mail that still waits is not sent. The workflow notices the end when it next reads the row. */
export async function endRun(tx: Transaction, run: RunRow, ending: Ending, now: Date): Promise<void> {
  const reason = ending.status === 'exited' ? ending.reason : null;
  const code = ending.status === 'failed' ? ending.code : null;
  await tx.run(sql`UPDATE automation_runs
       SET status = ${ending.status}, exit_reason = ${reason}, error_code = ${code}, ended_at = ${now}, looks_at = NULL, parked_at = NULL,
           waiting = false, watches = '{}', cursor = ${ending.status === 'completed' ? raw('NULL') : raw('cursor')}
     WHERE id = ${run.id} AND status IN ('active', 'failed')`);
  if (ending.status === 'completed') return;
  await tx.run(sql`DELETE FROM automation_course_watches WHERE run_id = ${run.id}`);
  if (ending.status === 'failed') return;
  await tx.run(
    sql`UPDATE automation_run_steps SET left_at = ${now}, outcome = ${reason} WHERE run_id = ${run.id} AND left_at IS NULL`,
  );
  await skipWaitingMails(tx, run.id, reason);
}

/** Skips the waiting e-mails of a run that has ended. @param reason why it ended */
export async function skipWaitingMails(tx: Transaction, runId: Id, reason: ExitReason | null): Promise<void> {
  await tx.run(sql`UPDATE mails SET status = 'skipped', skip_reason = ${reason === 'student_removed' ? 'student_removed' : 'canceled'}
    WHERE run_id = ${runId} AND status = 'pending'`);
}

async function forgetWatches(tx: Transaction, run: RunRow, { definition, steps }: ReadVersion): Promise<void> {
  const placed = steps.get(run.cursor ?? '');
  if (placed && run.waiting && watchOf(definition, placed).courses.length > 0)
    await tx.run(sql`DELETE FROM automation_course_watches WHERE run_id = ${run.id}`);
}

export interface AutomationState {
  status: 'draft' | 'active' | 'paused' | 'archived';
  timeZone: string;
}

/** Takes a shared lock on the automation, so that a pause or an archiving waits for this step. The next step sees the change. */
export async function shareAutomation(tx: Queries, automationId: Id): Promise<AutomationState> {
  const automation = await tx.one<AutomationState>(sql`SELECT automation.status, club.time_zone AS "timeZone"
    FROM automations automation JOIN clubs club ON club.id = automation.club_id
   WHERE automation.id = ${automationId} FOR SHARE OF automation`);
  if (!automation) throw new Error(`There is no automation ${automationId}`);
  return automation;
}
