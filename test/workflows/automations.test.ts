/** Runs of automations on the engine, with time skipped: what wakes them, and what lets them sleep (AUTO-10, AUTO-12, AUTO-17). */
import { expect } from 'chai';
import { activities as all } from '../../activities/index.ts';
import type { Definition } from '../../domain/automations/definition.policy.ts';
import { enrollByFacts } from '../../domain/automations/entering/by-facts.ts';
import { enrollByHand } from '../../domain/automations/entering/by-hand.ts';
import { readRun } from '../../domain/automations/runs.ts';
import { pauseAutomation, resumeAutomation } from '../../domain/automations/states.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { createWorkflowClient } from '../../worker/workflow-client.ts';
import { summariesOf } from '../toolkit/assert/histories.ts';
import { buildAutomation, buildTag } from '../toolkit/builders/automations.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { automationDeps } from '../toolkit/drive/automations.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { relayHere, type RelayHere } from '../toolkit/stack/relay-here.ts';
import { searchAttributes } from '../toolkit/stack/skipped-engine.ts';
import { useTimeSkipping } from '../toolkit/stack/time-skipping.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';

const day = 86_400_000;

describe('automations, with time skipped', function () {
  this.timeout(60_000);
  const workers: { stop(): Promise<void> }[] = [];
  after('stop the worker, before its server', () => Promise.all(workers.map((worker) => worker.stop())));
  const environment = useTimeSkipping();
  let relay: RelayHere;
  before('start the worker', async () => {
    const { connection, nativeConnection } = environment();
    await connection.operatorService.addSearchAttributes({ namespace: 'default', searchAttributes });
    relay = relayHere(createWorkflowClient(nativeConnection, 'default'), ['automationRun', 'automationGate']);
    const activities = relay.carryingAfterEach({
      ...all.automationRun({ automations: await automationDeps() }),
      ...all.automationGate(await testDeps()),
    });
    workers.push(await runWorkerHere(nativeConnection, { taskQueue: 'automations', activities }));
  });

  const now = async () => new Date(await environment().currentTimeMs());
  const runOf = (id: Id) => environment().client.workflow.getHandle(workflowIdOf('automationRun', id));

  /** A student who has just entered, and whose run has begun. */
  async function entered(partsFor: (tag: Id) => Partial<Definition>) {
    const { db } = await testDeps();
    const { id: clubId } = await buildClub();
    const { id: studentId } = await buildStudent(clubId);
    relay.serve(clubId);
    const tag = await buildTag(clubId);
    const at = await now();
    const automationId = await buildAutomation(clubId, partsFor(tag), at);
    const causeId = newId();
    await enrollByHand({ db }, clubId, automationId, { id: causeId, student_ids: [studentId] }, at);
    const [row] = await db.source.query<{ id: Id }[]>(`SELECT id FROM automation_runs WHERE cause_id = $1`, [causeId]);
    await relay.carry();
    const runId = row?.id ?? '';
    await until('the first wait', { timeoutMs: 15_000 }, async () => {
      const [run] = await db.source.query<{ waiting: boolean }[]>(`SELECT waiting FROM automation_runs WHERE id = $1`, [
        runId,
      ]);
      return run?.waiting === true;
    });
    return { clubId, studentId, automationId, tag, runId };
  }

  /** The tag is on the student from now on, and the fact is told. */
  async function tagged({ clubId, studentId, tag }: { clubId: Id; studentId: Id; tag: Id }): Promise<void> {
    const { db } = await testDeps();
    const at = await now();
    await db.source.query(`INSERT INTO student_tags VALUES ($1, $2, $3)`, [studentId, tag, at]);
    const fact = { id: newId(), clubId, type: 'student.tagged', studentId, subjectId: tag, details: null } as const;
    await enrollByFacts(db, [{ ...fact, occurredAt: at, priority: 1 }], at);
    await relay.carry();
  }

  it('sleeps through a wait of 90 days in one timer, and leaves it on the day of the fact', async () => {
    const begun = await now();
    const scene = await entered((tag) => ({
      exit_when: { match: 'all', rules: [{ kind: 'has_tag', negate: false, tag_ids: [tag] }] },
      steps: [{ id: 'long', kind: 'wait', wait: { kind: 'delay', amount: 90, unit: 'days' } }],
    }));
    await environment().sleep(45 * day);
    await tagged(scene);
    expect(await runOf(scene.runId).result()).to.equal('exited');
    const { db } = await testDeps();
    const { exit_reason: reason, ended_at: ended } = await readRun(db, scene.clubId, scene.automationId, scene.runId);
    expect(reason).to.equal('exit_when');
    expect((new Date(ended ?? 0).getTime() - begun.getTime()) / day).to.be.within(45, 45.01);
    const { timers } = await summariesOf(runOf(scene.runId));
    expect(timers).to.deep.equal(['step 1 of 1, a delay in about 90 d']);
  });

  it('is held by a pause over its deadline, and goes on when the gate lets it go', async () => {
    const { db } = await testDeps();
    const scene = await entered(() => ({
      steps: [
        { id: 'wait', kind: 'wait', wait: { kind: 'delay', amount: 1, unit: 'days' } },
        { id: 'points', kind: 'award_points', points: 1 },
      ],
    }));
    await pauseAutomation({ db }, scene.clubId, scene.automationId, await now());
    await environment().sleep(3 * day);
    const held = await readRun(db, scene.clubId, scene.automationId, scene.runId);
    expect(held).to.include({ status: 'active', step_id: 'wait' }).and.to.have.property('held_since');
    await resumeAutomation({ db }, scene.clubId, scene.automationId, await now());
    await relay.carry();
    expect(await runOf(scene.runId).result()).to.equal('completed');
    const { timers } = await summariesOf(runOf(scene.runId));
    expect(timers.map((timer) => timer.replace(/ in about .*/, ''))).to.deep.equal([
      'step 1 of 2, a delay',
      'step 1 of 2, held by a pause',
    ]);
  });
});
