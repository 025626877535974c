/** Lets administrators list runs, read a run and the counts of runs at each step, and end or retry a run (AUTO-15). */
import type { RecordOf } from '../../contract/contract.ts';
import type { RunStatus } from '../../entities/automations/values.ts';
import { AutomationRunStep } from '../../entities/automations/automation-run-step.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { wake } from '../../platform/engine/wakes.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { violates } from '../../platform/infra/postgres/errors.ts';
import { countListed } from '../../platform/infra/postgres/lists/counts.ts';
import { newestFirst } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { all, sql, type Sql } from '../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../deps.ts';
import { hasRoom } from './entering/entering.ts';
import { endRun, lockRun, runColumns, shareAutomation, type RunRow } from './running/moves.ts';
import { readVersion, type ReadVersion } from './running/version-cache.ts';
import { wakeRun } from '../watches/watches.ts';
import { findAutomation, findVersion } from './records.ts';
import { countSteps } from './tallies.ts';

type RunRecord = RecordOf<'AutomationRun'>;

export interface RunFilter extends PageRequest {
  status?: RunStatus;
  student_id?: Id;
  /** Lists only active runs at this step. */
  step_id?: string;
  /** Lists only runs of the version with this number. */
  version?: number;
}

/** @returns a page of the runs, newest first @throws DomainError not_found (no such automation or version) */
export async function listRuns(db: Queries, clubId: Id, automationId: Id, filter: RunFilter): Promise<Page<RunRecord>> {
  await findAutomation(db, clubId, automationId);
  const version = filter.version === undefined ? undefined : await findVersion(db, automationId, filter.version);
  const { status, student_id: studentId, step_id: stepId } = filter;
  const where = all([
    sql`run.automation_id = ${automationId}`,
    version && sql`run.version_id = ${version.id}`,
    status === undefined ? undefined : sql`run.status = ${status}`,
    studentId === undefined ? undefined : sql`run.student_id = ${studentId}`,
    stepId === undefined ? undefined : sql`run.status = 'active' AND run.cursor = ${stepId}`,
  ]);
  const totalOf = () =>
    stepId === undefined ? countOf(db, clubId, version?.id ?? automationId, status) : countAtStep(db, where, filter);
  const { rows, total, next } = await listPage(db, filter, {
    columns: runColumns,
    from: sql`FROM automation_runs run WHERE ${where}`,
    orderBy: newestFirst('run', 'entered_at'),
    ...(studentId === undefined && { total: totalOf }),
  });
  return {
    rows: await Promise.all(rows.map(async (row) => present(row, await readVersion(db, row.versionId)))),
    total,
    next,
  };
}

/** Up to this number of runs, the total of a filtered list is exact. The counts of steps are always exact. */
const mostCountedAtStep = 1_000;

async function countAtStep(db: Queries, where: Sql, { page, page_size: size }: PageRequest): Promise<number> {
  const most = Math.max(mostCountedAtStep, page * size + 1);
  const countRow = await db.one<{ count: number }>(
    sql`SELECT count(*)::int AS count FROM (SELECT FROM automation_runs run WHERE ${where} LIMIT ${most}) AS found`,
  );
  return countRow?.count ?? 0;
}

const statuses = ['active', 'completed', 'exited', 'failed'] as const;

async function countOf(db: Queries, clubId: Id, subjectId: Id, status: RunStatus | undefined): Promise<number> {
  const lists = status === undefined ? statuses : [status];
  const counts = await Promise.all(
    lists.map((one) => countListed(db, { list: `automation_runs_${one}`, clubId, subjectId })),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

function present(run: RunRow, version: ReadVersion): RunRecord {
  return {
    id: run.id,
    student_id: run.studentId,
    version: version.number,
    status: run.status,
    ...(run.exitReason !== null && { exit_reason: run.exitReason }),
    ...(run.errorCode !== null && { error_code: run.errorCode }),
    ...(run.cursor !== null && { step_id: run.cursor }),
    ...(run.status === 'active' && run.deadline !== null && { waits_until: run.deadline.toISOString() }),
    ...(run.parkedAt !== null && { held_since: run.parkedAt.toISOString() }),
    entered_at: run.enteredAt.toISOString(),
    ...(run.endedAt !== null && { ended_at: run.endedAt.toISOString() }),
  };
}

async function findRun(db: Queries, clubId: Id, automationId: Id, runId: Id): Promise<RunRow> {
  const run = await db.one<RunRow>(sql`SELECT ${runColumns} FROM automation_runs run
    WHERE run.id = ${runId} AND run.automation_id = ${automationId} AND run.club_id = ${clubId}`);
  if (!run) throw notFound('run');
  return run;
}

interface MailOfStep {
  stepId: string;
  status: string;
  openedAt: Date | null;
  clickedAt: Date | null;
}

/** @returns the run with its path, in the order in which the run passed the steps @throws DomainError not_found */
export async function readRun(
  db: Queries,
  clubId: Id,
  automationId: Id,
  runId: Id,
): Promise<RecordOf<'AutomationRunPath'>> {
  const run = await findRun(db, clubId, automationId, runId);
  const version = await readVersion(db, run.versionId);
  const steps = await db.manager.findBy(AutomationRunStep, { runId });
  const mails =
    await db.rows<MailOfStep>(sql`SELECT step_id AS "stepId", status, opened_at AS "openedAt", clicked_at AS "clickedAt"
    FROM mails WHERE run_id = ${runId}`);
  const mailOf = new Map(mails.map((mail) => [mail.stepId, mail]));
  const numberOf = ({ stepId }: AutomationRunStep) => version.steps.get(stepId)?.number ?? Number.MAX_SAFE_INTEGER;
  return {
    ...present(run, version),
    path: steps
      .toSorted((one, other) => numberOf(one) - numberOf(other))
      .map((step) => ({
        step_id: step.stepId,
        kind: version.steps.get(step.stepId)?.step.kind ?? 'unknown',
        entered_at: step.enteredAt.toISOString(),
        ...(step.deadline !== null && { waits_until: step.deadline.toISOString() }),
        ...(step.leftAt !== null && { left_at: step.leftAt.toISOString() }),
        ...(step.outcome !== null && { outcome: step.outcome }),
        ...(step.answers !== null && { answers: step.answers }),
        ...mailRecord(mailOf.get(step.stepId)),
      })),
  };
}

function mailRecord(mail: MailOfStep | undefined) {
  if (!mail) return {};
  const { status, openedAt, clickedAt } = mail;
  return {
    mail: {
      status: status as 'pending',
      ...(openedAt !== null && { opened_at: openedAt.toISOString() }),
      ...(clickedAt !== null && { clicked_at: clickedAt.toISOString() }),
    },
  };
}

/** Ends an active or failed run. @throws DomainError not_found, run_state */
export async function exitRun(
  { db }: DatabaseDeps,
  clubId: Id,
  automationId: Id,
  runId: Id,
  now: Date,
): Promise<RunRecord> {
  return change({ db }, clubId, automationId, runId, async (tx, run) => {
    if (run.status !== 'active' && run.status !== 'failed') throw runState(run);
    await endRun(tx, run, { status: 'exited', reason: 'by_hand' }, now);
    if (run.status === 'active') await wakeIt(tx, run, now);
  });
}

/**
 * Makes a failed run try its step again.
 * @throws DomainError not_found, run_state, automation_state, reentry_forbidden
 */
export async function resumeRun(
  { db }: DatabaseDeps,
  clubId: Id,
  automationId: Id,
  runId: Id,
  now: Date,
): Promise<RunRecord> {
  return change({ db }, clubId, automationId, runId, async (tx, run, status) => {
    if (run.status !== 'failed' || run.cursor === null) throw runState(run);
    if (status === 'archived')
      throw new DomainError('automation_state', 'The automation is archived, so its runs cannot continue.');
    const { definition } = await readVersion(tx, run.versionId);
    if (definition.reentry === 'always' && !(await hasRoom(tx, automationId, run.studentId)))
      throw new DomainError(
        'reentry_forbidden',
        'The student has reached the limit of active runs in this automation.',
      );
    await tx
      .run(
        sql`UPDATE automation_runs SET status = 'active', error_code = NULL, ended_at = NULL, looks_at = ${now}, waiting = false WHERE id = ${runId}`,
      )
      .catch((error: unknown) => {
        throw violates(error, 'automation_runs_after_exit')
          ? new DomainError(
              'reentry_forbidden',
              'The student has another active run, and reentry allows only one at a time.',
            )
          : error;
      });
    await tx.run(sql`DELETE FROM failing_steps WHERE workflow_id = ${workflowIdOf('automationRun', runId)}`);
    await wakeRun(tx, runId, now);
  });
}

const runState = ({ status }: RunRow) =>
  new DomainError('run_state', `The run is ${status}, which does not allow this action.`);

const wakeIt = (tx: Transaction, { id, clubId, automationId, versionId, priority }: RunRow, now: Date) =>
  wake(tx, 'automationRun', [{ id, clubId, automationId, versionId, priority }], now);

/** Locks the student, the automation and the run, in this order. */
async function change(
  { db }: DatabaseDeps,
  clubId: Id,
  automationId: Id,
  runId: Id,
  work: (tx: Transaction, run: RunRow, status: string) => Promise<void>,
): Promise<RunRecord> {
  return db.transaction(async (tx) => {
    const { studentId } = await findRun(tx, clubId, automationId, runId);
    await tx.run(sql`SELECT FROM students WHERE id = ${studentId} FOR NO KEY UPDATE`);
    const { status } = await shareAutomation(tx, automationId);
    const run = await lockRun(tx, runId);
    if (!run) throw notFound('run');
    await work(tx, run, status);
    const after = await findRun(tx, clubId, automationId, runId);
    return present(after, await readVersion(tx, after.versionId));
  });
}

/**
 * @returns the number of runs that entered each step, in the order of the definition
 * @throws DomainError not_found (no such automation or version)
 */
export async function readCounts(
  db: Queries,
  clubId: Id,
  automationId: Id,
  number: number | undefined,
): Promise<RecordOf<'AutomationCounts'>> {
  const { publishedId } = await findAutomation(db, clubId, automationId);
  const versionId = number === undefined ? publishedId : (await findVersion(db, automationId, number)).id;
  if (versionId === null) throw notFound('version');
  const version = await readVersion(db, versionId);
  const counts = new Map((await countSteps(db, versionId)).map((count) => [count.stepId, count]));
  return {
    version: version.number,
    steps: [...version.steps.values()].map(({ step }) => {
      const { entered = 0, departed = 0, sent = 0, opened = 0, clicked = 0 } = counts.get(step.id) ?? {};
      return {
        step_id: step.id,
        kind: step.kind,
        entered,
        waiting: entered - departed,
        left: departed,
        ...(step.kind === 'send_email' && { sent, opened, clicked }),
      };
    }),
  };
}
