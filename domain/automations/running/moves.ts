/** How a run's row changes: it goes on, waits, is held, or ends. Each change is made by the holder of the row's lock (AUTO-10). */
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

/** @returns the run under its lock, which comes after those of student and automation; undefined where there is none */
export async function lockRun(tx: Transaction, runId: Id): Promise<RunRow | undefined> {
  return tx.one<RunRow>(sql`SELECT ${runColumns} FROM automation_runs run WHERE run.id = ${runId} FOR NO KEY UPDATE`);
}

/** The student, locked by the caller. */
export interface Recipient {
  name: string;
  email: string;
  confirmed: boolean;
  /** Signed up and never confirmed: nobody writes to such an address (DEC-62). */
  pending: boolean;
}

/** What a look is about, all of it locked. */
export interface LockedLook {
  run: RunRow;
  /** Undefined where the student was removed. */
  student: Recipient | undefined;
  automation: Held;
}

const lookColumns = sql`${runColumns}, student.name AS "studentName", student.email AS "studentEmail",
  student.removed_at IS NOT NULL AS removed, student.verified_at IS NOT NULL AS confirmed,
  student.verified_at IS NULL AND student.opened_by = 'sign_up' AS pending,
  automation.status AS "automationStatus", club.time_zone AS "timeZone"`;

/** Postgres takes the locks of a row in the order of these clauses. */
const lockForLook = prepared<
  RunRow & {
    studentName: string;
    studentEmail: string;
    removed: boolean;
    confirmed: boolean;
    pending: boolean;
    automationStatus: Held['status'];
    timeZone: string;
  }
>(
  'lock_look',
  `SELECT ${lookColumns.render([])}
     FROM automation_runs run JOIN students student ON student.id = run.student_id
     JOIN automations automation ON automation.id = run.automation_id JOIN clubs club ON club.id = automation.club_id
    WHERE run.id = $1 AND run.status = 'active'
      FOR NO KEY UPDATE OF student FOR SHARE OF automation FOR NO KEY UPDATE OF run`,
);

/** Locks student, automation (shared) and run, in this order, in one statement. @returns undefined where the run is not active */
export async function lockLook(tx: Transaction, runId: Id): Promise<LockedLook | undefined> {
  const [found] = await lockForLook(tx, [runId]);
  if (!found) return undefined;
  const {
    studentName: name,
    studentEmail: email,
    removed,
    confirmed,
    pending,
    automationStatus,
    timeZone,
    ...run
  } = found;
  return {
    run,
    student: removed ? undefined : { name, email, confirmed, pending },
    automation: { status: automationStatus, timeZone },
  };
}

/** The key of what a step does once for a run. */
export const effectKey = ({ id }: Pick<RunRow, 'id'>, stepId: string): Id => v5(stepId, id);

/** What became of a step. */
export interface Passed {
  stepId: string;
  outcome: string;
  /** What each rule of its condition answered. */
  answers?: readonly boolean[];
}

/** Writes the step into the run's path; one that the run waited at is there already. */
export async function passStep(tx: Transaction, run: RunRow, passed: Passed, now: Date): Promise<void> {
  const { stepId, outcome, answers = null } = passed;
  await tx.run(sql`INSERT INTO automation_run_steps AS step (id, run_id, version_id, step_id, entered_at, left_at, outcome, answers)
    VALUES (${newId()}, ${run.id}, ${run.versionId}, ${stepId}, ${now}, ${now}, ${outcome}, ${answers})
    ON CONFLICT (run_id, step_id) DO UPDATE SET left_at = excluded.left_at, outcome = excluded.outcome, answers = excluded.answers`);
}

/** A step at which the run stays for a while is on its path from the beginning. */
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

/** When a run has to look next. */
export interface Rest {
  looksAt: Date;
  waiting: boolean;
}

/** What the next step depends on, as it was at the look. */
export interface Scene extends WaitClock {
  /** When the access of the student next begins or ends by itself. */
  nextChange: Date | null;
  now: Date;
}

/**
 * Moves the cursor to the next step, where it still stands at the one that was done, and says when to look there. A plain wait is
 * entered at once; a step with a condition is looked at first. @param to null: the run is complete
 */
export async function goOn(
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
  const moved = { ...run, cursor: to, deadline };
  if (!placed || deadline === null || !sleepsAt(placed))
    return settle(tx, run, moved, { looksAt: now, waiting: false }, []);
  await enterStep(tx, run, to, { deadline }, now);
  return rest(tx, moved, version, { until: deadline, nextChange, from: run });
}

/** Lets a run wait at its step, until the deadline at most, or until access changes by itself where it watches that. */
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
  const moved = await tx.run(sql`UPDATE automation_runs
       SET cursor = ${to.cursor}, deadline = ${to.deadline}, was_open = ${to.wasOpen}, waiting = ${next.waiting}, watches = ${watches},
           looks_at = ${next.looksAt}, parked_at = NULL
     WHERE id = ${to.id} AND status = 'active' AND cursor = ${from.cursor}`);
  if (moved === 0) throw new Error('The cursor of a run moved under its lock');
  return next;
}

/** What the run is about is open to its student: notes it where the look itself does not move the run. */
export async function noteOpen(tx: Transaction, { id }: RunRow): Promise<void> {
  await tx.run(sql`UPDATE automation_runs SET was_open = true WHERE id = ${id}`);
}

/** The pause of its automation holds the run: its gate lets it go. */
export async function holdRun(tx: Transaction, run: RunRow, now: Date): Promise<void> {
  await tx.run(sql`UPDATE automation_runs SET looks_at = NULL, parked_at = coalesce(parked_at, ${now}), was_open = ${run.wasOpen}
    WHERE id = ${run.id} AND status = 'active'`);
}

export type Ending =
  | { status: 'completed' }
  | { status: 'exited'; reason: ExitReason }
  | { status: 'failed'; code: string };

/** Ends a run that is active, or has failed: nothing of it happens any more, and an e-mail that was not handed over stays unsent. The workflow sees it at its next look. */
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

/** An e-mail that waits is not sent any more: its run has left. @param reason why it did */
export async function skipWaitingMails(tx: Transaction, runId: Id, reason: ExitReason | null): Promise<void> {
  await tx.run(sql`UPDATE mails SET status = 'skipped', skip_reason = ${reason === 'student_removed' ? 'student_removed' : 'canceled'}
    WHERE run_id = ${runId} AND status = 'pending'`);
}

async function forgetWatches(tx: Transaction, run: RunRow, { definition, steps }: ReadVersion): Promise<void> {
  const placed = steps.get(run.cursor ?? '');
  if (placed && run.waiting && watchOf(definition, placed).courses.length > 0)
    await tx.run(sql`DELETE FROM automation_course_watches WHERE run_id = ${run.id}`);
}

/** The time zone and the state that a look depends on. */
export interface Held {
  status: 'draft' | 'active' | 'paused' | 'archived';
  timeZone: string;
}

/** Locks the automation for share: pausing or archiving it waits, and the next look sees the change. */
export async function shareAutomation(tx: Queries, automationId: Id): Promise<Held> {
  const found = await tx.one<Held>(sql`SELECT automation.status, club.time_zone AS "timeZone"
    FROM automations automation JOIN clubs club ON club.id = automation.club_id
   WHERE automation.id = ${automationId} FOR SHARE OF automation`);
  if (!found) throw new Error('A run has an automation');
  return found;
}
