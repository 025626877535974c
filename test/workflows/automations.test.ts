/** Tests the wakes and waits of automation runs (AUTO-10, AUTO-12, AUTO-17). */
import { expect } from 'chai';
import { Temporal } from 'temporal-polyfill';
import { activities as all } from '../../activities/index.ts';
import type { Definition, Step } from '../../domain/automations/versions/definition.policy.ts';
import { enrollByFacts } from '../../domain/automations/entering/by-facts.ts';
import { enrollByHand } from '../../domain/automations/entering/by-hand.ts';
import { readRun } from '../../domain/automations/runs.ts';
import { pauseAutomation, resumeAutomation } from '../../domain/automations/states.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { createWorkflowClient } from '../../worker/temporal/workflow-client.ts';
import { summariesOf } from '../toolkit/assert/histories.ts';
import { buildEnrollment } from '../toolkit/builders/access.ts';
import { buildAutomation, buildTag, buildVersion, email } from '../toolkit/builders/automations.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { automationDeps } from '../toolkit/drive/automations.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { relayHere, type RelayHere } from '../toolkit/stack/relay-here.ts';
import { searchAttributes } from '../toolkit/stack/skipped-engine.ts';
import { useTimeSkipping } from '../toolkit/stack/time-skipping.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';

const hour = 3_600_000;
const day = 24 * hour;
const hasTag = (tag: Id, negate: boolean) => ({
  match: 'all' as const,
  rules: [{ kind: 'has_tag' as const, negate, tag_ids: [tag] }],
});

/** One time that the clocks skip, and one time that occurs twice, in the year after `from`. `at` is the instant that a run must choose. */
function nextChangesOfClocks(zone: string, from: Date): { zone: string; minute: number; days: number; at: Date }[] {
  const startsAt = Temporal.Instant.fromEpochMilliseconds(from.getTime()).toZonedDateTimeISO(zone);
  const first = startsAt.getTimeZoneTransition('next');
  const second = first?.getTimeZoneTransition('next');
  return [first, second].map((change) => {
    if (!change) throw new Error('The time zone has fewer than two clock changes a year.');
    const before = change.subtract({ minutes: 30 });
    const isGap = change.offsetNanoseconds > before.offsetNanoseconds;
    const clockTime = isGap ? before.toPlainDateTime().add({ hours: 1 }) : before.toPlainDateTime();
    const days = startsAt.toPlainDate().until(clockTime.toPlainDate(), { largestUnit: 'days' }).days;
    const at = new Date((isGap ? change : before).epochMilliseconds);
    return { zone, minute: clockTime.hour * 60 + clockTime.minute, days, at };
  });
}

describe('a run of an automation', function () {
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

  /**
   * Creates a student, calls `prepare`, and then starts a run for the student.
   */
  async function entered(
    partsFor: (tag: Id) => Partial<Definition>,
    prepare: (clubId: Id, studentId: Id) => Promise<unknown> = async () => undefined,
  ) {
    const { id: clubId } = await buildClub();
    const { id: studentId } = await buildStudent(clubId);
    relay.serve(clubId);
    const tag = await buildTag(clubId);
    await prepare(clubId, studentId);
    const automationId = await buildAutomation(clubId, partsFor(tag), await now());
    return { clubId, studentId, automationId, tag, runId: await enroll(clubId, automationId, studentId) };
  }

  /** Waits until the run has reached its first wait. */
  async function enroll(clubId: Id, automationId: Id, studentId: Id): Promise<Id> {
    const { db } = await testDeps();
    const at = await now();
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
    return runId;
  }

  const pathOf = async ({ clubId, automationId, runId }: { clubId: Id; automationId: Id; runId: Id }) =>
    (await readRun((await testDeps()).db, clubId, automationId, runId)).path;

  /** Also passes the fact to the automations. */
  async function tagged({ clubId, studentId, tag }: { clubId: Id; studentId: Id; tag: Id }): Promise<void> {
    const { db } = await testDeps();
    const at = await now();
    await db.source.query(`INSERT INTO student_tags VALUES ($1, $2, $3)`, [studentId, tag, at]);
    const fact = { id: newId(), clubId, type: 'student.tagged', studentId, subjectId: tag, details: null } as const;
    await enrollByFacts(db, [{ ...fact, occurredAt: at, priority: 1 }], at);
    await relay.carry();
  }

  it('ends during a wait of 90 days when the exit condition is met', async () => {
    const enteredAt = await now();
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
    expect((new Date(ended ?? 0).getTime() - enteredAt.getTime()) / day).to.be.within(45, 45.01);
    const { timers } = await summariesOf(runOf(scene.runId));
    expect(timers).to.deep.equal(['step 1 of 1, a delay in about 90 d']);
  });

  it('does not continue after a wait while the automation is paused', async () => {
    const { db } = await testDeps();
    const scene = await entered(() => ({
      steps: [
        { id: 'wait', kind: 'wait', wait: { kind: 'delay', amount: 1, unit: 'days' } },
        { id: 'points', kind: 'award_points', points: 1 },
      ],
    }));
    await pauseAutomation({ db }, scene.clubId, scene.automationId, await now());
    await environment().sleep(3 * day);
    const heldRun = await readRun(db, scene.clubId, scene.automationId, scene.runId);
    expect(heldRun).to.include({ status: 'active', step_id: 'wait' }).and.to.have.property('held_since');
    await resumeAutomation({ db }, scene.clubId, scene.automationId, await now());
    await relay.carry();
    expect(await runOf(scene.runId).result()).to.equal('completed');
    const { timers } = await summariesOf(runOf(scene.runId));
    expect(timers.map((timer) => timer.replace(/ in about .*/, ''))).to.deep.equal([
      'step 1 of 2, a delay',
      'step 1 of 2, held by a pause',
    ]);
  });

  it('executes each kind of step and each kind of wait at the right time', async () => {
    const enteredAt = await now();
    const scene = await entered((tag) => ({
      steps: [
        { id: 'delay', kind: 'wait', wait: { kind: 'delay', amount: 2, unit: 'hours' } },
        { id: 'points', kind: 'award_points', points: 5 },
        { id: 'tag', kind: 'add_tag', tag_id: tag },
        { id: 'mail', kind: 'send_email', email },
        {
          id: 'has',
          kind: 'condition',
          condition: hasTag(tag, false),
          then: [
            {
              id: 'until',
              kind: 'wait',
              wait: { kind: 'until_condition', days: 3 },
              condition: hasTag(tag, true),
              else: [{ id: 'untag', kind: 'remove_tag', tag_id: tag }],
            },
          ],
        },
        { id: 'noon', kind: 'wait', wait: { kind: 'until_time', amount: 720, unit: 'minutes', days: 1 } },
        { id: 'leave', kind: 'exit' },
      ],
    }));
    expect(await runOf(scene.runId).result()).to.equal('exited');
    const path = await pathOf(scene);
    expect(path.map(({ step_id: id, outcome }) => `${id} ${outcome}`)).to.deep.equal([
      'delay time_over',
      'points awarded',
      'tag tagged',
      'mail sent',
      'has then',
      'until else',
      'untag untagged',
      'noon time_over',
      'leave exit_step',
    ]);
    const leftAfter = (place: number) => (new Date(path[place]?.left_at ?? 0).getTime() - enteredAt.getTime()) / hour;
    expect(leftAfter(0)).to.be.within(2, 2.01);
    expect(leftAfter(5)).to.be.within(74, 74.01);
    expect(path[7]?.left_at).to.match(/T12:00:0/);
  });

  it('ends during a wait, on the day when the student’s access expires', async () => {
    const enteredAt = await now();
    const scene = await entered(
      () => ({
        exit_on_access_lost: true,
        steps: [
          { id: 'mail', kind: 'send_email', email },
          { id: 'long', kind: 'wait', wait: { kind: 'delay', amount: 90, unit: 'days' } },
        ],
      }),
      (clubId, studentId) =>
        buildEnrollment(clubId, { studentId, startsAt: enteredAt, endsAt: new Date(enteredAt.getTime() + 20 * day) }),
    );
    expect(await runOf(scene.runId).result()).to.equal('exited');
    const [, wait] = await pathOf(scene);
    expect(wait).to.include({ step_id: 'long', outcome: 'access_lost' });
    expect((new Date(wait?.left_at ?? 0).getTime() - enteredAt.getTime()) / day).to.be.within(20, 20.01);
  });

  it('continues with the old version if a new version is published during a wait', async () => {
    const delay: Step = { id: 'wait', kind: 'wait', wait: { kind: 'delay', amount: 30, unit: 'days' } };
    const scene = await entered(() => ({ steps: [delay, { id: 'old', kind: 'award_points', points: 1 }] }));
    await buildVersion(
      scene.clubId,
      scene.automationId,
      { steps: [delay, { id: 'new', kind: 'award_points', points: 2 }] },
      await now(),
    );
    const second = { ...scene, runId: await enroll(scene.clubId, scene.automationId, scene.studentId) };
    expect([await runOf(scene.runId).result(), await runOf(second.runId).result()]).to.deep.equal([
      'completed',
      'completed',
    ]);
    const stepsOf = async (one: typeof scene) => (await pathOf(one)).map(({ step_id: id }) => id);
    expect([await stepsOf(scene), await stepsOf(second)]).to.deep.equal([
      ['wait', 'old'],
      ['wait', 'new'],
    ]);
  });

  it('uses the first possible instant if clocks skip or repeat the local time', async () => {
    const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Sydney'];
    const startsAt = await now();
    const changes = zones.flatMap((zone) => nextChangesOfClocks(zone, startsAt));
    const waiting: { scene: { clubId: Id; automationId: Id; runId: Id }; at: Date }[] = [];
    for (const { zone, minute, days, at } of changes) {
      const steps: Step[] = [{ id: 'time', kind: 'wait', wait: { kind: 'until_time', amount: minute, days } }];
      const scene = await entered(
        () => ({ steps }),
        async (clubId) =>
          (await testDeps()).db.source.query(`UPDATE clubs SET time_zone = $2 WHERE id = $1`, [clubId, zone]),
      );
      const [step] = await pathOf(scene);
      expect(step?.waits_until, zone).to.equal(at.toISOString());
      waiting.push({ scene, at });
    }
    for (const { scene, at } of waiting.toSorted((one, other) => one.at.getTime() - other.at.getTime())) {
      expect(await runOf(scene.runId).result()).to.equal('completed');
      const [step] = await pathOf(scene);
      expect(new Date(step?.left_at ?? 0).getTime() - at.getTime()).to.be.within(0, 60_000);
    }
  });
});
