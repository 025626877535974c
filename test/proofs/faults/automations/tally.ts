/** What runs say, held against what they did: mails by the mail server's log, tags, points and facts by their tables. */
import type { DataSource } from 'typeorm';
import { effectKey } from '../../../../domain/automations/running/moves.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import { countedBy, holdMails, mailColumns, receivedIn, type MailRow, type MailsHeld } from '../mail/received.ts';
import { always, points, type Tags } from './scene.ts';

export interface EffectTally {
  runs: number;
  finished: number;
  /** A line for each effect that is there more often than its run says, or that no run has. */
  twice: string[];
  /** A line for each effect or step of a run that is not there. */
  missing: string[];
  mails: MailsHeld<MailOfStep>;
}

interface MailOfStep extends MailRow {
  runId: Id;
}

/** Facts go once they are told: from now on each is noted when it commits. */
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
  /** By step. */
  outcomes: Readonly<Record<string, string | null>>;
  /** When the wait for a tag was left. */
  waitLeftAt: Date | null;
}

/** Reading and locking take time: who had the tag by so much before the wait was left, was in time. */
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
  const mails = holdMails(rows, receivedIn(log));
  const done = countedBy(await effectsIn(source, tags), (effect) => effect);
  const said = countedBy(
    runs.flatMap((run) => effectsOf(run, tags)),
    (effect) => effect,
  );
  const finished = runs.filter(({ status, reason }) => status === 'exited' && reason === 'exit_step');
  return {
    runs: runs.length,
    finished: finished.length,
    twice: [
      ...[...done].filter(([effect, count]) => count > (said.get(effect) ?? 0)).map(([effect]) => effect),
      ...[...countedBy(runs, ({ studentId }) => studentId)]
        .filter(([, count]) => count > 1)
        .map(([id]) => `runs of ${id}`),
    ],
    missing: [
      ...[...said].filter(([effect, count]) => count > (done.get(effect) ?? 0)).map(([effect]) => effect),
      ...finished.flatMap((run) => stepsMissing(run, rows)),
      ...(await wakesMissed(source, runs, tags)),
      ...mails.skipped.map(({ id, reason }) => `mail ${id}, skipped: ${reason}`),
    ],
    mails,
  };
}

/** What its path says of a run, a word each. */
function effectsOf({ id, studentId, outcomes }: RunRow, { given, seen }: Tags): string[] {
  const passed = (step: string) => outcomes[step] !== undefined;
  const award = (step: string, count: number) =>
    passed(step) ? [`award ${studentId} ${effectKey({ id }, step)} ${count}`] : [];
  const fact = (step: string, type: string, tag: Id) => (passed(step) ? [`fact ${studentId} ${type} ${tag}`] : []);
  return [
    ...award('begun', points.begun),
    ...award('has', points.has),
    ...award('late', points.late),
    ...fact('give', 'student.tagged', given),
    ...fact('take', 'student.untagged', given),
    ...fact('in time', 'student.tagged', seen),
    ...(passed('give') && !passed('take') ? [`tag ${studentId} ${given}`] : []),
    ...(passed('in time') ? [`tag ${studentId} ${seen}`] : []),
  ];
}

/** What there is, in the same words. */
async function effectsIn(source: DataSource, { given, seen }: Tags): Promise<string[]> {
  const effects = await source.query<{ effect: string }[]>(
    `SELECT concat_ws(' ', 'award', student_id, cause_id, points) AS effect FROM point_awards WHERE cause_kind = 'automation'
     UNION ALL SELECT concat_ws(' ', 'fact', student_id, type, subject_id) FROM fault_facts WHERE subject_id = ANY ($1)
     UNION ALL SELECT concat_ws(' ', 'tag', student_id, tag_id) FROM student_tags WHERE tag_id = ANY ($1)`,
    [[given, seen]],
  );
  return effects.map(({ effect }) => effect);
}

/** A run that ended has passed all steps, and has a row for each of its mails. */
function stepsMissing({ id, outcomes }: RunRow, mails: readonly MailOfStep[]): string[] {
  const steps = [...always, outcomes['wait'] === 'then' ? 'in time' : 'late'];
  const lacking = steps.filter((step) => outcomes[step] === undefined).map((step) => `step ${step} of run ${id}`);
  const written = mails.filter(({ runId }) => runId === id).length;
  return written === 2 ? lacking : [...lacking, `${written} mails of run ${id}`];
}

/** Whose wait ended as if they had no tag, although they had one. */
async function wakesMissed(source: DataSource, runs: readonly RunRow[], { keen }: Tags): Promise<string[]> {
  const tagged = await source.query<{ studentId: Id; at: Date }[]>(
    `SELECT student_id AS "studentId", tagged_at AS at FROM student_tags WHERE tag_id = $1`,
    [keen],
  );
  const since = new Map(tagged.map(({ studentId, at }) => [studentId, at]));
  return runs
    .filter(({ studentId, outcomes, waitLeftAt }) => {
      const at = since.get(studentId);
      return outcomes['wait'] === 'else' && at && waitLeftAt && waitLeftAt.getTime() - at.getTime() > clearlyMs;
    })
    .map(({ id }) => `the wake of run ${id}`);
}
