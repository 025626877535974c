/**
 * Compares the recorded steps of each run with their effects: mails in the log of the mail server, and tags, points and facts in tables.
 */
import type { DataSource } from 'typeorm';
import { effectKey } from '../../../../domain/automations/running/moves.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import { countedBy, checkMails, mailColumns, receivedIn, type MailRow, type CheckedMails } from '../mail/received.ts';
import { always, points, type Tags } from './scene.ts';

export interface EffectTally {
  runs: number;
  finished: number;
  /** A line for each effect that exists more often than the runs recorded it. */
  twice: string[];
  missing: string[];
  mails: CheckedMails<MailOfStep>;
}

interface MailOfStep extends MailRow {
  runId: Id;
}

/** Copies each fact to a table when it commits, because the engine deletes facts after the fan-out. */
export async function noteFacts(source: DataSource): Promise<void> {
  await source.query(`
    CREATE TABLE fault_facts (student_id uuid, type text, subject_id uuid);
    CREATE FUNCTION note_fact() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO fault_facts VALUES (NEW.student_id, NEW.type, NEW.subject_id); RETURN NULL; END $$;
    CREATE TRIGGER note_fact AFTER INSERT ON facts FOR EACH ROW EXECUTE FUNCTION note_fact();
  `);
}

interface RunRow {
  id: Id;
  studentId: Id;
  status: string;
  reason: string | null;
  outcomes: Readonly<Record<string, string | null>>;
  waitLeftAt: Date | null;
}

/**
 * If a student got the tag at least this long before the wait ended, the run must have seen the tag. The run needs this time to read and to
 * lock.
 */
const clearlyMs = 5_000;

export async function tallyEffects(
  source: DataSource,
  { automationId, tags, log }: { automationId: Id; tags: Tags; log: string },
): Promise<EffectTally> {
  const runs = await source.query<RunRow[]>(
    `SELECT run.id, run.student_id AS "studentId", run.status, run.exit_reason AS reason,
            coalesce(jsonb_object_agg(step.step_id, step.outcome) FILTER (WHERE step.left_at IS NOT NULL), '{}') AS outcomes,
            max(step.left_at) FILTER (WHERE step.step_id = 'wait') AS "waitLeftAt"
       FROM automation_runs run LEFT JOIN automation_run_steps step ON step.run_id = run.id
      WHERE run.automation_id = $1 GROUP BY run.id`,
    [automationId],
  );
  const rows = await source.query<MailOfStep[]>(
    `SELECT ${mailColumns}, run_id AS "runId" FROM mails WHERE run_id IS NOT NULL`,
  );
  const mails = checkMails(rows, receivedIn(log));
  const effectCounts = countedBy(await effectsIn(source, tags), (effect) => effect);
  const recordedCounts = countedBy(
    runs.flatMap((run) => effectsOf(run, tags)),
    (effect) => effect,
  );
  const finished = runs.filter(({ status, reason }) => status === 'exited' && reason === 'exit_step');
  return {
    runs: runs.length,
    finished: finished.length,
    twice: [
      ...[...effectCounts]
        .filter(([effect, count]) => count > (recordedCounts.get(effect) ?? 0))
        .map(([effect]) => effect),
      ...[...countedBy(runs, ({ studentId }) => studentId)]
        .filter(([, count]) => count > 1)
        .map(([id]) => `runs of ${id}`),
    ],
    missing: [
      ...[...recordedCounts]
        .filter(([effect, count]) => count > (effectCounts.get(effect) ?? 0))
        .map(([effect]) => effect),
      ...finished.flatMap((run) => stepsMissing(run, rows)),
      ...(await wakesMissed(source, runs, tags)),
      ...mails.skippedMails.map(({ id, reason }) => `mail ${id}, skipped: ${reason}`),
    ],
    mails,
  };
}

function effectsOf({ id, studentId, outcomes }: RunRow, { givenTag, seenTag }: Tags): string[] {
  const passed = (step: string) => outcomes[step] !== undefined;
  const award = (step: string, count: number) =>
    passed(step) ? [`award ${studentId} ${effectKey({ id }, step)} ${count}`] : [];
  const fact = (step: string, type: string, tag: Id) => (passed(step) ? [`fact ${studentId} ${type} ${tag}`] : []);
  return [
    ...award('begun', points.begun),
    ...award('has', points.has),
    ...award('late', points.late),
    ...fact('give', 'student.tagged', givenTag),
    ...fact('take', 'student.untagged', givenTag),
    ...fact('in time', 'student.tagged', seenTag),
    ...(passed('give') && !passed('take') ? [`tag ${studentId} ${givenTag}`] : []),
    ...(passed('in time') ? [`tag ${studentId} ${seenTag}`] : []),
  ];
}

/** Uses the format of `effectsOf`. */
async function effectsIn(source: DataSource, { givenTag, seenTag }: Tags): Promise<string[]> {
  const effects = await source.query<{ effect: string }[]>(
    `SELECT concat_ws(' ', 'award', student_id, cause_id, points) AS effect FROM point_awards WHERE cause_kind = 'automation'
     UNION ALL SELECT concat_ws(' ', 'fact', student_id, type, subject_id) FROM fault_facts WHERE subject_id = ANY ($1)
     UNION ALL SELECT concat_ws(' ', 'tag', student_id, tag_id) FROM student_tags WHERE tag_id = ANY ($1)`,
    [[givenTag, seenTag]],
  );
  return effects.map(({ effect }) => effect);
}

function stepsMissing({ id, outcomes }: RunRow, mails: readonly MailOfStep[]): string[] {
  const steps = [...always, outcomes['wait'] === 'then' ? 'in time' : 'late'];
  const lacking = steps.filter((step) => outcomes[step] === undefined).map((step) => `step ${step} of run ${id}`);
  const mailCount = mails.filter(({ runId }) => runId === id).length;
  return mailCount === 2 ? lacking : [...lacking, `${mailCount} mails of run ${id}`];
}

/** Finds the runs that waited until the time limit, although the student got the tag earlier. */
async function wakesMissed(source: DataSource, runs: readonly RunRow[], { keenTag }: Tags): Promise<string[]> {
  const tagged = await source.query<{ studentId: Id; at: Date }[]>(
    `SELECT student_id AS "studentId", tagged_at AS at FROM student_tags WHERE tag_id = $1`,
    [keenTag],
  );
  const since = new Map(tagged.map(({ studentId, at }) => [studentId, at]));
  return runs
    .filter(({ studentId, outcomes, waitLeftAt }) => {
      const at = since.get(studentId);
      return outcomes['wait'] === 'else' && at && waitLeftAt && waitLeftAt.getTime() - at.getTime() > clearlyMs;
    })
    .map(({ id }) => `the wake of run ${id}`);
}
