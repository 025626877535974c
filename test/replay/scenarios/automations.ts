/**
 * Scenarios of automations: a run goes through every kind of step, a run ends during a wait, and a run waits because the automation is
 * paused. After the pause, the gate releases waiting runs.
 */
import { enrollByHand } from '../../../domain/automations/entering/by-hand.ts';
import type { Definition, Step } from '../../../domain/automations/versions/definition.policy.ts';
import { exitRun } from '../../../domain/automations/runs.ts';
import { pauseAutomation, resumeAutomation } from '../../../domain/automations/states.ts';
import { takeStep } from '../../../domain/automations/running/run-step.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { buildAutomation, buildTag, email } from '../../toolkit/builders/automations.ts';
import { buildClub, buildStudent } from '../../toolkit/builders/clubs.ts';
import { automationDeps } from '../../toolkit/drive/automations.ts';
import { testDatabase, testDeps } from '../../toolkit/stack/database.ts';
import type { Recorder, Scenarios } from '../recorder.ts';

interface Entered {
  clubId: Id;
  automationId: Id;
  runIds: Id[];
}

async function entered(
  { skipped }: Recorder,
  count: number,
  partsFor: (tag: Id) => Partial<Definition>,
): Promise<Entered> {
  const now = await skipped.now();
  const { id: clubId } = await buildClub();
  const automationId = await buildAutomation(clubId, partsFor(await buildTag(clubId)), now);
  const students: Id[] = [];
  for (let number = 0; number < count; number++) students.push((await buildStudent(clubId)).id);
  await enrollByHand(await testDeps(), clubId, automationId, { id: newId(), student_ids: students }, now);
  const rows = await (
    await testDatabase()
  ).query<{ id: Id }[]>(`SELECT id FROM automation_runs WHERE automation_id = $1 ORDER BY id`, [automationId]);
  return { clubId, automationId, runIds: rows.map(({ id }) => id) };
}

const waitOf = (days: number): Step => ({
  id: 'wait',
  kind: 'wait',
  wait: { kind: 'delay', amount: days, unit: 'days' },
});

const everyKind = (tag: Id): Step[] => {
  const tagged = { match: 'all' as const, rules: [{ kind: 'has_tag' as const, negate: false, tag_ids: [tag] }] };
  return [
    waitOf(1),
    { id: 'morning', kind: 'wait', wait: { kind: 'until_time', amount: 540, unit: 'minutes', days: 1 } },
    {
      id: 'until',
      kind: 'wait',
      wait: { kind: 'until_condition', days: 5 },
      condition: tagged,
      else: [{ id: 'tag', kind: 'add_tag', tag_id: tag }],
    },
    { id: 'if', kind: 'condition', condition: tagged, then: [{ id: 'points', kind: 'award_points', points: 5 }] },
    { id: 'untag', kind: 'remove_tag', tag_id: tag },
    { id: 'mail', kind: 'send_email', email },
    { id: 'end', kind: 'exit' },
  ];
};

export const automationScenarios: Scenarios = {
  automationRun: {
    'every-kind-of-step': async (recorder) => {
      const { runIds } = await entered(recorder, 1, (tag) => ({ steps: everyKind(tag) }));
      return recorder.skipped.start('automationRun', 'automations', runIds[0] ?? '');
    },
    'left-in-mid-wait': async (recorder) => {
      const { clubId, automationId, runIds } = await entered(recorder, 1, () => ({ steps: [waitOf(90)] }));
      const run = await recorder.skipped.start('automationRun', 'automations', runIds[0] ?? '');
      await exitRun(await testDeps(), clubId, automationId, runIds[0] ?? '', await recorder.skipped.now());
      await run.signal('lookAgain');
      return run;
    },
    'held-by-a-pause': async (recorder) => {
      const { clubId, automationId, runIds } = await entered(recorder, 1, () => ({ steps: [waitOf(1)] }));
      const deps = await testDeps();
      await pauseAutomation(deps, clubId, automationId, await recorder.skipped.now());
      const run = await recorder.skipped.start('automationRun', 'automations', runIds[0] ?? '');
      await resumeAutomation(deps, clubId, automationId, await recorder.skipped.now());
      await run.signal('lookAgain');
      return run;
    },
  },
  automationGate: {
    'three-pages': async (recorder) => {
      const { clubId, automationId, runIds } = await entered(recorder, 5, () => ({ steps: [waitOf(1)] }));
      const deps = await testDeps();
      const now = await recorder.skipped.now();
      await pauseAutomation(deps, clubId, automationId, now);
      for (const id of runIds) await takeStep(await automationDeps(), id, now.getTime());
      await resumeAutomation(deps, clubId, automationId, now);
      return recorder.skipped.start('automationGate', 'automations', automationId);
    },
  },
};
