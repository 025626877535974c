/**
 * The step of `automation-run/<id>`: one look. It asks, decides, does what the step says and moves on, in one transaction under the
 * student's row; an e-mail is claimed and recorded around its way to the server (AUTO-10).
 */
import type { RunStatus } from '../../../entities/automations/values.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { workflowIdOf } from '../../../platform/engine/workflow-types.ts';
import { isConflict, type Database, type Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { recordInTime } from '../../mail/recording.ts';
import { wakeRun } from '../../watches/watches.ts';
import type { PlacedStep } from '../definition.policy.ts';
import { takeEffect } from './effects.ts';
import { lookAt, placeOf } from './looking.ts';
import {
  claimMail,
  giveBackPlace,
  messageOf,
  prepareMail,
  putMailOff,
  recordMail,
  wordOfOutcome,
  type MailingDeps,
} from './mailing.ts';
import {
  endRun,
  enterStep,
  goOn,
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
  /** How many times faster waits pass; 1 if absent. */
  waitSpeed?: number;
  /** Told after each look: the kind of the step that it left, and how it ended the run. */
  onStep: (step: { left?: string; ended?: RunStatus }) => void;
  /** Where tests stop the process. */
  failpoint: (name: RunFailpoint) => Promise<void>;
}

/**
 * `run_step_decided`: nothing is written yet. `run_step_done`: the effect is written, the cursor is not, nothing is committed.
 * `run_step_recorded`: both are committed, and the workflow does not know.
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
      /** Unix milliseconds; absent where the next step is due at once. */
      at?: number;
      /** The place of the step in its version, from 1, of how many, and what it does: for the Temporal UI. */
      number: number;
      steps: number;
      kind: string;
      held: boolean;
    };

/** A paused run is woken by its gate; its workflow looks again now and then all the same. */
const heldLooksMs = 7 * 24 * 3_600_000;
/** Faults of ours for so long make a run fail, where somebody sees it. */
const faultyMs = 24 * 3_600_000;

/** @param now Unix milliseconds */
export async function takeStep(deps: RunDeps, runId: Id, now: number): Promise<RunStep> {
  try {
    const looked = await look(deps, runId, new Date(now));
    const done = looked.kind === 'mail' ? await sendOrPutOff(deps, looked, new Date(now)) : looked;
    deps.onStep(done);
    await deps.failpoint('run_step_recorded');
    return done.answer;
  } catch (error) {
    if (isConflict(error) || !(await isFaultyForLong(deps, runId, now))) throw error;
    const done = await giveUp(deps, runId, 'fault', new Date(now));
    deps.onStep(done);
    return done.answer;
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
  /** The kind of the step that was left. */
  left?: string;
  /** How this look ended the run. */
  ended?: RunStatus;
}
type Looked = Answered | MailToSend;

const over = (status: RunStatus): Answered => ({ kind: 'answer', answer: { done: true, outcome: status } });
const ended = (status: RunStatus): Answered => ({ ...over(status), ended: status });

function look(deps: RunDeps, runId: Id, now: Date): Promise<Looked> {
  return deps.db.transaction(async (tx) => {
    const locked = await lockLook(tx, runId);
    if (!locked) {
      const known = await tx.one<{ status: RunStatus }>(sql`SELECT status FROM automation_runs WHERE id = ${runId}`);
      return over(known?.status ?? 'exited'); // without a row its club is gone
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
    const seen: RunRow = { ...run, wasOpen };
    await deps.failpoint('run_step_decided');
    const scene: Scene = { timeZone, waitSpeed: deps.waitSpeed, nextChange: answers.nextChange, now };
    const passTo = async (passed: Omit<Passed, 'stepId'>, to: string | null): Promise<Looked> => {
      await passStep(tx, seen, { stepId: placed.step.id, ...passed }, now);
      await deps.failpoint('run_step_done');
      const next = await goOn(tx, seen, version, to, scene);
      return { ...(next ? resting(version, to, next, now) : ended('completed')), left: placed.step.kind };
    };
    switch (decision.kind) {
      case 'hold':
        await holdRun(tx, seen, now);
        return resting(
          version,
          run.cursor,
          { looksAt: new Date(now.getTime() + heldLooksMs), waiting: true },
          now,
          true,
        );
      case 'exit':
        if (decision.reason === 'exit_step')
          await passStep(tx, seen, { stepId: placed.step.id, outcome: 'exit_step' }, now);
        return {
          ...(await finish(tx, seen, { status: 'exited', reason: decision.reason }, now)),
          ...(decision.reason === 'exit_step' && { left: placed.step.kind }),
        };
      case 'fail':
        return finish(tx, seen, { status: 'failed', code: decision.code }, now);
      case 'wait': {
        if (!run.waiting) await enterStep(tx, seen, placed.step.id, { deadline: run.deadline }, now);
        const next = await rest(tx, seen, version, { until: decision.until, nextChange: answers.nextChange });
        return resting(version, run.cursor, next, now);
      }
      case 'pass':
        return passTo({ outcome: decision.outcome, ...(condition && { answers: answers.condition }) }, decision.to);
      case 'act': {
        if (placed.step.kind !== 'send_email') {
          const outcome = await effectOf(tx, seen, placed, now);
          return 'code' in outcome
            ? finish(tx, seen, { status: 'failed', ...outcome }, now)
            : passTo(outcome, decision.to);
        }
        const mail = await prepareMail(tx, deps, seen, placed.step.id, student, now);
        if (mail.kind === 'settled') return passTo({ outcome: mail.outcome }, decision.to);
        if (mail.kind === 'due') {
          const { mailId } = mail;
          if (seen.wasOpen && !run.wasOpen) await noteOpen(tx, run);
          return { kind: 'mail', run: seen, version, placed, to: decision.to, mailId, scene };
        }
        if (!run.waiting) await enterStep(tx, seen, placed.step.id, { deadline: null }, now);
        return resting(
          version,
          run.cursor,
          await rest(tx, seen, version, { until: mail.until, nextChange: answers.nextChange }),
          now,
        );
      }
    }
  });
}

/** What a step names may be gone in spite of all care: then the run fails, and says which step. */
async function effectOf(
  tx: Transaction,
  run: RunRow,
  { step }: PlacedStep,
  now: Date,
): Promise<{ outcome: string } | { code: string }> {
  try {
    return { outcome: await takeEffect(tx, run, step, now) };
  } catch (error) {
    if (error instanceof DomainError) return { code: error.code };
    throw error;
  }
}

/** Removed or not: what is recorded of the mail is true in any case. */
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

/** What waits has a time, also one that has passed: where the database's clock is behind, its lease lasts, and must not be asked for again and again. */
function resting(
  version: ReadVersion,
  cursor: string | null,
  { looksAt, waiting }: Rest,
  now: Date,
  held = false,
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
      held,
    },
  };
}

/**
 * How long a step waits for a connection to the mail server. It holds one of the worker's places meanwhile: a server that hangs
 * must not hold up the steps that send nothing (AUTO-13).
 */
const connectionWaitMs = 1_000;

async function sendOrPutOff(deps: RunDeps, mail: MailToSend, now: Date): Promise<Answered> {
  const sent = await deps.smtp.onConnectionWithin(connectionWaitMs, () => sendMail(deps, mail, now));
  return sent ?? putOff(deps, mail, now);
}

/** The e-mail stays unclaimed, and the run looks again later. */
async function putOff({ db }: RunDeps, { run, version, placed, scene }: MailToSend, now: Date): Promise<Answered> {
  return db.transaction(async (tx) => {
    await lockStudentOf(tx, run);
    const current = await lockRun(tx, run.id);
    const until = await putMailOff(tx, run, placed.step.id, now);
    if (current?.status !== 'active') return over(current?.status ?? 'exited');
    if (current.cursor !== run.cursor) return resting(version, current.cursor, { looksAt: now, waiting: false }, now);
    const answered = await restAtMail(tx, { current, version, placed, scene }, until, now);
    await wakeParked(tx, current, now);
    return answered;
  });
}

/**
 * While its e-mail was under way, Temporal may have taken this look's worker for dead, and another look may have parked the run: it
 * then waits for its gate, and nobody tells it that this look has moved it on.
 * @param current the run as it was found
 */
async function wakeParked(tx: Transaction, { id, parkedAt }: RunRow, now: Date): Promise<void> {
  if (parkedAt !== null) await wakeRun(tx, id, now);
}

/** The run waits at its e-mail until it is due again. */
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

/** On a connection that is idle: claims the e-mail, hands it over, and records it with the run's next step. */
async function sendMail(deps: RunDeps, mail: MailToSend, now: Date): Promise<Answered> {
  const { run, placed, version, scene } = mail;
  const claimed = await deps.db.transaction(async (tx) => {
    const current = await lockLook(tx, run.id);
    if (current?.student && current.automation.status === 'active' && current.run.cursor === run.cursor) {
      const { student } = current;
      // Composed before the claim: a fault of ours leaves the e-mail as it was.
      const message = await messageOf(tx, deps, run, { step: placed.step, mailId: mail.mailId, to: student });
      const row = await claimMail(tx, deps.vault, mail.mailId, student, now);
      if (row) return { ...row, message };
    }
    await giveBackPlace(tx, run.clubId, now);
    return undefined;
  });
  // Somebody paused, archived or ended it since: the next look sees it.
  if (!claimed) return resting(version, run.cursor, { looksAt: now, waiting: false }, now);
  await deps.failpoint('run_mail_claimed');
  const answer = await deps.smtp.handOver(claimed.message);
  await deps.failpoint('run_mail_handed_over');
  const outcome = await recordInTime(() =>
    deps.db.transaction(async (tx) => {
      await lockStudentOf(tx, run);
      const current = await lockRun(tx, run.id);
      const recorded = await recordMail(tx, claimed, answer, now);
      // Ended while its e-mail was under way: one that the server put off waits for nobody.
      if (current?.status === 'exited') await skipWaitingMails(tx, current.id, current.exitReason);
      if (!current || current.status !== 'active') return { recorded, step: over(current?.status ?? 'exited') };
      if (current.cursor !== run.cursor)
        return { recorded, step: resting(version, current.cursor, { looksAt: now, waiting: false }, now) };
      if (recorded.status === 'pending') {
        const until = new Date(now.getTime() + recorded.waitMs);
        const step = await restAtMail(tx, { current, version, placed, scene }, until, now);
        await wakeParked(tx, current, now);
        return { recorded, step };
      }
      await passStep(tx, current, { stepId: placed.step.id, outcome: wordOfOutcome(recorded) }, now);
      const next = await goOn(tx, current, version, mail.to, scene);
      await wakeParked(tx, current, now);
      const step = next ? resting(version, mail.to, next, now) : ended('completed');
      return { recorded, step: { ...step, left: placed.step.kind } };
    }),
  );
  deps.onMail(outcome.recorded.status);
  return outcome.step;
}

async function isFaultyForLong({ db }: RunDeps, runId: Id, now: number): Promise<boolean> {
  const faulty = await db.one(sql`SELECT 1 FROM failing_steps
    WHERE workflow_id = ${workflowIdOf('automationRun', runId)} AND failing_since < ${new Date(now - faultyMs)}`);
  return faulty !== undefined;
}

/** The run fails at its step, where it can be resumed. */
async function giveUp({ db }: RunDeps, runId: Id, code: string, now: Date): Promise<Answered> {
  return db.transaction(async (tx) => {
    const run = await lockRun(tx, runId);
    return run?.status === 'active' ? finish(tx, run, { status: 'failed', code }, now) : over(run?.status ?? 'exited');
  });
}
