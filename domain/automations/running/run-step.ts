/**
 * The step of the workflow `automation-run/<id>`. One transaction locks the student, reads the run, decides, applies the effect and moves
 * the run to the next step. An e-mail is claimed before it goes to the mail server, and its outcome is recorded afterwards (AUTO-10).
 */
import type { RunStatus } from '../../../entities/automations/values.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { workflowIdOf } from '../../../platform/engine/workflow-types.ts';
import { isConflict, type Database, type Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { recordWithRetries } from '../../mail/sending/record-outcome.ts';
import { wakeRun } from '../../watches/watches.ts';
import type { PlacedStep } from '../versions/definition.policy.ts';
import { applyEffect } from './effects.ts';
import { lookAt, placeOf } from './looking.ts';
import {
  claimMail,
  returnOneAllowance,
  messageOf,
  prepareMail,
  deferMail,
  recordMail,
  wordOfOutcome,
  type MailingDeps,
} from './mailing.ts';
import {
  endRun,
  enterStep,
  advance,
  holdRun,
  lockLook,
  lockRun,
  noteOpen,
  passStep,
  rest,
  skipWaitingMails,
  type Passed,
  type Rest,
  type RunRow,
  type Scene,
} from './moves.ts';
import { readVersion, type ReadVersion } from './version-cache.ts';

export interface RunDeps extends MailingDeps {
  db: Database;
  /** The factor by which waits are shortened; 1 if absent. */
  waitSpeed?: number;
  /**
   * Called after each evaluation of a run. `completedKind` is the kind of the step that was completed. `ended` is the status of a run that
   * has ended.
   */
  onStep: (step: { completedKind?: string; ended?: RunStatus }) => void;
  /** A hook at which tests stop the process. */
  failpoint: (name: RunFailpoint) => Promise<void>;
}

/**
 * `run_step_decided`: nothing is written. `run_step_done`: the effect is written but not the cursor, and nothing is committed.
 * `run_step_recorded`: effect and cursor are committed, but the workflow has not got the result yet.
 */
export type RunFailpoint =
  | 'run_step_decided'
  | 'run_step_done'
  | 'run_step_recorded'
  | 'run_mail_claimed'
  | 'run_mail_handed_over';

export type RunStep =
  | { done: true; outcome: RunStatus }
  | {
      done: false;
      /** The time of the next step, in Unix milliseconds. Absent if the next step is due immediately. */
      at?: number;
      /** The position of the step in its version, from 1. The Temporal UI shows it. */
      number: number;
      steps: number;
      kind: string;
      held: boolean;
    };

/**
 * The workflow `automation-gate` wakes a held run after the pause. In case this wake is lost, the run also reads its row at this interval.
 */
const heldLooksMs = 7 * 24 * 3_600_000;
/** A run fails after it had internal errors for this time, so that an administrator sees it. */
const faultyMs = 24 * 3_600_000;

/** @param now Unix milliseconds */
export async function takeStep(deps: RunDeps, runId: Id, now: number): Promise<RunStep> {
  try {
    const lookResult = await look(deps, runId, new Date(now));
    const result = lookResult.kind === 'mail' ? await sendOrDefer(deps, lookResult, new Date(now)) : lookResult;
    deps.onStep(result);
    await deps.failpoint('run_step_recorded');
    return result.answer;
  } catch (error) {
    if (isConflict(error) || !(await hasFailedForLong(deps, runId, now))) throw error;
    const result = await giveUp(deps, runId, 'fault', new Date(now));
    deps.onStep(result);
    return result.answer;
  }
}

interface MailToSend {
  kind: 'mail';
  run: RunRow;
  version: ReadVersion;
  placed: PlacedStep;
  to: string | null;
  mailId: Id;
  scene: Scene;
}
interface Answered {
  kind: 'answer';
  answer: RunStep;
  completedKind?: string;
  ended?: RunStatus;
}
type Looked = Answered | MailToSend;

const endedBefore = (status: RunStatus): Answered => ({ kind: 'answer', answer: { done: true, outcome: status } });
const ended = (status: RunStatus): Answered => ({ ...endedBefore(status), ended: status });

function look(deps: RunDeps, runId: Id, now: Date): Promise<Looked> {
  return deps.db.transaction(async (tx) => {
    const locked = await lockLook(tx, runId);
    if (!locked) {
      const existingRun = await tx.one<{ status: RunStatus }>(
        sql`SELECT status FROM automation_runs WHERE id = ${runId}`,
      );
      return endedBefore(existingRun?.status ?? 'exited'); // A missing row means that the club was deleted
    }
    const { run, student, automation } = locked;
    const { status, timeZone } = automation;
    if (!student) return finish(tx, run, { status: 'exited', reason: 'student_removed' }, now);

    const version = await readVersion(tx, run.versionId);
    const placed = placeOf(version, run.cursor);
    if ('code' in placed) return finish(tx, run, { status: 'failed', code: placed.code }, now);
    const { condition, answers, wasOpen, decision } = await lookAt(tx, version, placed, run, {
      automation: status,
      now,
    });
    const current: RunRow = { ...run, wasOpen };
    await deps.failpoint('run_step_decided');
    const scene: Scene = { timeZone, waitSpeed: deps.waitSpeed, nextChange: answers.nextChange, now };
    const passTo = async (passed: Omit<Passed, 'stepId'>, to: string | null): Promise<Looked> => {
      await passStep(tx, current, { stepId: placed.step.id, ...passed }, now);
      await deps.failpoint('run_step_done');
      const next = await advance(tx, current, version, to, scene);
      return { ...(next ? resting(version, to, next, now) : ended('completed')), completedKind: placed.step.kind };
    };
    switch (decision.kind) {
      case 'hold':
        await holdRun(tx, current, now);
        return resting(
          version,
          run.cursor,
          { looksAt: new Date(now.getTime() + heldLooksMs), waiting: true },
          now,
          true,
        );
      case 'exit':
        if (decision.reason === 'exit_step')
          await passStep(tx, current, { stepId: placed.step.id, outcome: 'exit_step' }, now);
        return {
          ...(await finish(tx, current, { status: 'exited', reason: decision.reason }, now)),
          ...(decision.reason === 'exit_step' && { completedKind: placed.step.kind }),
        };
      case 'fail':
        return finish(tx, current, { status: 'failed', code: decision.code }, now);
      case 'wait': {
        if (!run.waiting) await enterStep(tx, current, placed.step.id, { deadline: run.deadline }, now);
        const next = await rest(tx, current, version, { until: decision.until, nextChange: answers.nextChange });
        return resting(version, run.cursor, next, now);
      }
      case 'pass':
        return passTo({ outcome: decision.outcome, ...(condition && { answers: answers.condition }) }, decision.to);
      case 'act': {
        if (placed.step.kind !== 'send_email') {
          const outcome = await effectOf(tx, current, placed, now);
          return 'code' in outcome
            ? finish(tx, current, { status: 'failed', ...outcome }, now)
            : passTo(outcome, decision.to);
        }
        const mail = await prepareMail(tx, deps, current, placed.step.id, student, now);
        if (mail.kind === 'settled') return passTo({ outcome: mail.outcome }, decision.to);
        if (mail.kind === 'due') {
          const { mailId } = mail;
          if (current.wasOpen && !run.wasOpen) await noteOpen(tx, run);
          return { kind: 'mail', run: current, version, placed, to: decision.to, mailId, scene };
        }
        if (!run.waiting) await enterStep(tx, current, placed.step.id, { deadline: null }, now);
        return resting(
          version,
          run.cursor,
          await rest(tx, current, version, { until: mail.until, nextChange: answers.nextChange }),
          now,
        );
      }
    }
  });
}

/**
 * Applies the effect of the step. If the record that the step names was deleted meanwhile, this returns an error code, and the run fails at
 * this step.
 */
async function effectOf(
  tx: Transaction,
  run: RunRow,
  { step }: PlacedStep,
  now: Date,
): Promise<{ outcome: string } | { code: string }> {
  try {
    return { outcome: await applyEffect(tx, run, step, now) };
  } catch (error) {
    if (error instanceof DomainError) return { code: error.code };
    throw error;
  }
}

/** The student may have been removed, but the outcome of the mail is recorded in any case. */
async function lockStudentOf(tx: Transaction, { studentId }: RunRow): Promise<void> {
  await tx.run(sql`SELECT FROM students WHERE id = ${studentId} FOR NO KEY UPDATE`);
}

async function finish(
  tx: Transaction,
  run: RunRow,
  ending: Parameters<typeof endRun>[2],
  now: Date,
): Promise<Answered> {
  if (ending.status === 'failed' && run.cursor !== null)
    await enterStep(tx, run, run.cursor, { deadline: run.deadline, outcome: ending.code }, now);
  await endRun(tx, run, ending, now);
  return ended(ending.status);
}

/**
 * Returns the answer of the step to its workflow. If the run waits, the answer always has a time, even if this time has passed. Without a
 * time, the workflow would call the step again immediately. If the database's clock is behind, the lease that the run waits for is still
 * valid. Then the workflow would call the step in a loop.
 */
function resting(
  version: ReadVersion,
  cursor: string | null,
  { looksAt, waiting }: Rest,
  now: Date,
  isHeld = false,
): Answered {
  const placed = version.steps.get(cursor ?? '');
  return {
    kind: 'answer',
    answer: {
      done: false,
      ...((waiting || looksAt > now) && { at: looksAt.getTime() }),
      number: placed?.number ?? 0,
      steps: version.steps.size,
      kind: placed?.step.wait?.kind ?? placed?.step.kind ?? 'step',
      held: isHeld,
    },
  };
}

/**
 * The longest wait for a connection to the mail server. The wait uses one of the worker's slots, and a mail server that hangs must not
 * block steps that send nothing (AUTO-13).
 */
const connectionWaitMs = 1_000;

async function sendOrDefer(deps: RunDeps, mail: MailToSend, now: Date): Promise<Answered> {
  const result = await deps.smtp.onConnectionWithin(connectionWaitMs, () => sendMail(deps, mail, now));
  return result ?? deferSending(deps, mail, now);
}

/** Leaves the e-mail unclaimed, and lets the run try again later. */
async function deferSending(
  { db }: RunDeps,
  { run, version, placed, scene }: MailToSend,
  now: Date,
): Promise<Answered> {
  return db.transaction(async (tx) => {
    await lockStudentOf(tx, run);
    const current = await lockRun(tx, run.id);
    const until = await deferMail(tx, run, placed.step.id, now);
    if (current?.status !== 'active') return endedBefore(current?.status ?? 'exited');
    if (current.cursor !== run.cursor) return resting(version, current.cursor, { looksAt: now, waiting: false }, now);
    const result = await restAtMail(tx, { current, version, placed, scene }, until, now);
    await wakeParked(tx, current, now);
    return result;
  });
}

/**
 * While this step sent the e-mail, Temporal may have considered the worker dead, and a second execution may have parked the run. This step
 * has now moved the run, so it wakes the run.
 */
async function wakeParked(tx: Transaction, { id, parkedAt }: RunRow, now: Date): Promise<void> {
  if (parkedAt !== null) await wakeRun(tx, id, now);
}

/** Makes the run wait at its step until the e-mail is due again. */
async function restAtMail(
  tx: Transaction,
  { current, version, placed, scene }: { current: RunRow; version: ReadVersion; placed: PlacedStep; scene: Scene },
  until: Date,
  now: Date,
): Promise<Answered> {
  if (!current.waiting) await enterStep(tx, current, placed.step.id, { deadline: null }, now);
  const next = await rest(tx, current, version, { until, nextChange: scene.nextChange });
  return resting(version, current.cursor, next, now);
}

/**
 * Runs when a connection to the mail server is free. It claims the e-mail, gives it to the server, and records the outcome with the run's
 * next step.
 */
async function sendMail(deps: RunDeps, mail: MailToSend, now: Date): Promise<Answered> {
  const { run, placed, version, scene } = mail;
  const mailToSend = await deps.db.transaction(async (tx) => {
    const current = await lockLook(tx, run.id);
    if (current?.student && current.automation.status === 'active' && current.run.cursor === run.cursor) {
      const { student } = current;
      // Composed before the claim, so that an internal error leaves the e-mail unclaimed.
      const message = await messageOf(tx, deps, run, { step: placed.step, mailId: mail.mailId, to: student });
      const row = await claimMail(tx, deps.vault, mail.mailId, student, now);
      if (row) return { ...row, message };
    }
    await returnOneAllowance(tx, run.clubId, now);
    return undefined;
  });
  // The automation was paused or archived, or the run ended. The next step of the run handles this change.
  if (!mailToSend) return resting(version, run.cursor, { looksAt: now, waiting: false }, now);
  await deps.failpoint('run_mail_claimed');
  const answer = await deps.smtp.handOver(mailToSend.message);
  await deps.failpoint('run_mail_handed_over');
  const outcome = await recordWithRetries(() =>
    deps.db.transaction(async (tx) => {
      await lockStudentOf(tx, run);
      const current = await lockRun(tx, run.id);
      const recorded = await recordMail(tx, mailToSend, answer, now);
      // The run ended while its e-mail was being sent. An e-mail that the server deferred is then skipped.
      if (current?.status === 'exited') await skipWaitingMails(tx, current.id, current.exitReason);
      if (!current || current.status !== 'active') return { recorded, step: endedBefore(current?.status ?? 'exited') };
      if (current.cursor !== run.cursor)
        return { recorded, step: resting(version, current.cursor, { looksAt: now, waiting: false }, now) };
      if (recorded.status === 'pending') {
        const until = new Date(now.getTime() + recorded.waitMs);
        const step = await restAtMail(tx, { current, version, placed, scene }, until, now);
        await wakeParked(tx, current, now);
        return { recorded, step };
      }
      await passStep(tx, current, { stepId: placed.step.id, outcome: wordOfOutcome(recorded) }, now);
      const next = await advance(tx, current, version, mail.to, scene);
      await wakeParked(tx, current, now);
      const step = next ? resting(version, mail.to, next, now) : ended('completed');
      return { recorded, step: { ...step, completedKind: placed.step.kind } };
    }),
  );
  deps.onMail(outcome.recorded.status);
  return outcome.step;
}

async function hasFailedForLong({ db }: RunDeps, runId: Id, now: number): Promise<boolean> {
  const failingStep = await db.one(sql`SELECT 1 FROM failing_steps
    WHERE workflow_id = ${workflowIdOf('automationRun', runId)} AND failing_since < ${new Date(now - faultyMs)}`);
  return failingStep !== undefined;
}

/** Fails the run at its step, from which an administrator can resume it. */
async function giveUp({ db }: RunDeps, runId: Id, code: string, now: Date): Promise<Answered> {
  return db.transaction(async (tx) => {
    const run = await lockRun(tx, runId);
    return run?.status === 'active'
      ? finish(tx, run, { status: 'failed', code }, now)
      : endedBefore(run?.status ?? 'exited');
  });
}
