/** Kills a worker at each failpoint of an automation's step (AUTO-10, AUTO-13). */
import { expect } from 'chai';
import type { Mailbox } from '../../dev/mailbox/mailbox.ts';
import { enrollByHand } from '../../domain/automations/entering/by-hand.ts';
import type { RunFailpoint } from '../../domain/automations/running/run-step.ts';
import { readRun } from '../../domain/automations/runs.ts';
import { wakeRun } from '../../domain/watches/watches.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { buildAutomation, buildTag, email } from '../toolkit/builders/automations.ts';
import { buildClub, buildStudent, type TestStudent } from '../toolkit/builders/clubs.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { useTemporal, useWorkerProcesses } from '../toolkit/stack/worker.ts';

const second = 1_000;
const places = [
  'run_step_decided',
  'run_step_done',
  'run_step_recorded',
  'run_mail_claimed',
  'run_mail_handed_over',
] as const satisfies readonly RunFailpoint[];
type Place = (typeof places)[number];

interface Rows {
  status: string;
  cursor: string | null;
  points: number;
  mail: string | null;
  awards: number;
  tagged: number;
}

interface Scene {
  clubId: Id;
  automationId: Id;
  runId: Id;
  student: TestStudent;
  signal: NodeJS.Signals | null;
  remains: Rows;
}

describe('a run of an automation after its worker was killed', function () {
  this.timeout(30 * second);
  const startWorker = useWorkerProcesses('automations');
  const temporal = useTemporal();
  const scenes = {} as Record<Place, Scene>;
  let mailbox: Mailbox;

  before('kill five workers, and start a sixth', async function () {
    this.timeout(180 * second);
    const stack = await testStack();
    if (!stack.mailbox) throw new Error('The stack has no mailbox, which these tests read.');
    mailbox = stack.mailbox;
    const { db } = await testDeps();
    for (const place of places) scenes[place] = await killedAt(place);
    await db.run(sql`UPDATE mails SET lease_until = clock_timestamp() WHERE lease_until IS NOT NULL`);
    await db.run(sql`UPDATE wakes SET lease_until = clock_timestamp() WHERE lease_until IS NOT NULL`);
    const runs = Object.values(scenes).map(({ runId }) => runId);
    await db.transaction(async (tx) => {
      for (const runId of runs) await wakeRun(tx, runId, new Date());
    });
    await startWorker();
    await until('the end of all', { timeoutMs: 60 * second }, async () => {
      const open = await db.rows(sql`SELECT FROM automation_runs WHERE id = ANY(${runs}) AND status = 'active'`);
      return open.length === 0;
    });
  });

  async function killedAt(place: Place): Promise<Scene> {
    const { db } = await testDeps();
    const { id: clubId } = await buildClub();
    const student = await buildStudent(clubId);
    const tag = await buildTag(clubId);
    const automationId = await buildAutomation(
      clubId,
      {
        steps: [
          { id: 'points', kind: 'award_points', points: 5 },
          { id: 'mail', kind: 'send_email', email },
          { id: 'tag', kind: 'add_tag', tag_id: tag },
        ],
      },
      new Date(),
    );
    const worker = await startWorker({ FAILPOINT: place });
    const causeId = newId();
    await enrollByHand({ db }, clubId, automationId, { id: causeId, student_ids: [student.id] }, new Date());
    const { signal } = await worker.exited;
    const run = await db.one<{ id: Id }>(sql`SELECT id FROM automation_runs WHERE cause_id = ${causeId}`);
    const runId = run?.id ?? '';
    // Otherwise the next worker would continue this run, after Temporal has missed the heartbeats for 10 s.
    await temporal().workflow.getHandle(workflowIdOf('automationRun', runId)).terminate();
    return { clubId, automationId, runId, student, signal, remains: await rowsOf(runId) };
  }

  async function rowsOf(runId: Id): Promise<Rows> {
    const { db } = await testDeps();
    const row = await db.one<Rows>(sql`SELECT run.status, run.cursor, student.points::int AS points,
        (SELECT mail.status FROM mails mail WHERE mail.run_id = run.id) AS mail,
        (SELECT count(*)::int FROM point_awards WHERE student_id = student.id) AS awards,
        (SELECT count(*)::int FROM student_tags WHERE student_id = student.id) AS tagged
      FROM automation_runs run JOIN students student ON student.id = run.student_id WHERE run.id = ${runId}`);
    if (!row) throw new Error('The run has no row.');
    return row;
  }

  const nothing = { status: 'active', cursor: 'points', points: 0, mail: null, awards: 0, tagged: 0 };
  const awarded = { ...nothing, cursor: 'mail', points: 5, awards: 1 };
  for (const [place, rowsAfterKill, mailed, copies] of [
    ['run_step_decided', nothing, 'sent', 1],
    ['run_step_done', nothing, 'sent', 1],
    ['run_step_recorded', awarded, 'sent', 1],
    ['run_mail_claimed', { ...awarded, mail: 'sending' }, 'outcome_unknown', 0],
    ['run_mail_handed_over', { ...awarded, mail: 'sending' }, 'outcome_unknown', 1],
  ] as const)
    it(`ends after a kill at ${place}, the outcome of the mail is ${mailed} (received mails: ${copies})`, async () => {
      const { clubId, automationId, runId, student, signal, remains } = scenes[place];
      expect([signal, remains]).to.deep.equal(['SIGKILL', rowsAfterKill]);
      expect(await rowsOf(runId)).to.deep.equal({
        status: 'completed',
        cursor: null,
        points: 5,
        mail: mailed === 'sent' ? 'sent' : 'failed',
        awards: 1,
        tagged: 1,
      });
      const { db } = await testDeps();
      const { path } = await readRun(db, clubId, automationId, runId);
      expect(path.map(({ step_id: id, outcome }) => `${id} ${outcome}`)).to.deep.equal([
        'points awarded',
        `mail ${mailed}`,
        'tag tagged',
      ]);
      expect(mailbox.summaries({ to: student.email })).to.have.length(copies);
    });
});
