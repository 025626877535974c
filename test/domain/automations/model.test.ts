/** Compares runs and dry runs of random definitions with a simple interpreter (AUTO-10, AUTO-12, AUTO-19). */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { dryRun } from '../../../domain/automations/dry-runs/dry-run.ts';
import { tagStudent, untagStudent } from '../../../domain/learning/engagement/tagging.ts';
import type { Definition, Step } from '../../../domain/automations/versions/definition.policy.ts';
import { readVersionDefinition } from '../../toolkit/assert/automations.ts';
import { buildAutomation, buildTag } from '../../toolkit/builders/automations.ts';
import { buildClub, buildStudent } from '../../toolkit/builders/clubs.ts';
import { playAutomations } from '../../toolkit/drive/automations.ts';
import { testDeps } from '../../toolkit/stack/database.ts';

const start = new Date('2026-03-02T12:00:00Z');
const minute = 60_000;
const cases = Number(process.env['MODEL_RUNS'] ?? 12);

type Mark = 0 | 1;
interface Event {
  /** Seconds after the start. Odd numbers are never equal to a deadline. */
  at: number;
  mark: Mark;
  on: boolean;
}

type Draft =
  | { kind: 'delay'; minutes: number }
  | { kind: 'points' }
  | { kind: 'add' | 'remove'; mark: Mark }
  | { kind: 'exit' }
  | { kind: 'if' | 'until'; mark: Mark; negate: boolean; then: Draft[]; else: Draft[] };

const mark = fc.constantFrom<Mark>(0, 1);
const { drafts } = fc.letrec<{ drafts: Draft[]; draft: Draft }>((tie) => ({
  drafts: fc.array(tie('draft'), { minLength: 0, maxLength: 3 }),
  draft: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    fc.record({ kind: fc.constant('delay' as const), minutes: fc.integer({ min: 1, max: 90 }) }),
    fc.record({ kind: fc.constant('points' as const) }),
    fc.record({ kind: fc.constantFrom('add' as const, 'remove' as const), mark }),
    fc.record({ kind: fc.constant('exit' as const) }),
    fc.record({
      kind: fc.constantFrom('if' as const, 'until' as const),
      mark,
      negate: fc.boolean(),
      then: tie('drafts'),
      else: tie('drafts'),
    }),
  ),
}));
const events = fc.uniqueArray(
  fc.record({ at: fc.integer({ min: 0, max: 4_000 }).map((n) => 2 * n + 1), mark, on: fc.boolean() }),
  { maxLength: 6, selector: ({ at }) => at },
);
const exits = fc.option(fc.record({ mark, negate: fc.boolean() }), { nil: undefined, freq: 2 });

describe('runs and dry runs', function () {
  this.timeout(600_000);

  it(`match a simple interpreter for ${cases} random definitions`, async () => {
    const deps = await testDeps();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(drafts), { minLength: 1, maxLength: 2 }).map((lists) => lists.flat()),
        exits,
        events,
        async (list, exit, happening) => {
          const { id: clubId } = await buildClub();
          const [student, twin] = [await buildStudent(clubId), await buildStudent(clubId)];
          const tags = [await buildTag(clubId), await buildTag(clubId)] as const;
          const definition = compose([{ kind: 'points' }, ...list], exit, tags);
          const automationId = await buildAutomation(clubId, definition, start);
          expect(await readVersionDefinition(automationId)).to.deep.include(definition);

          const play = await playAutomations(clubId, start);
          const runId = await play.enroll(automationId, student.id);
          const supposed = await dryRun(
            deps,
            clubId,
            automationId,
            {
              student_id: twin.id,
              version: 1,
              starts_at: start.toISOString(),
              facts: happening.map(({ at, mark: which, on }) => ({
                kind: on ? ('student_tagged' as const) : ('student_untagged' as const),
                at: new Date(start.getTime() + at * 1_000).toISOString(),
                tag_id: tags[which],
              })),
            },
            start,
          );
          for (const { at, mark: which, on } of happening.toSorted((one, other) => one.at - other.at)) {
            await play.pass(start.getTime() + at * 1_000 - play.now().getTime());
            const change = on ? tagStudent : untagStudent;
            await change(deps, { clubId, studentId: student.id, tagId: tags[which] }, play.now());
            await play.settle();
          }
          await play.pass(40 * 24 * 60 * minute);
          const { status, exit_reason: reason, path, ended_at: ended } = await play.read(automationId, runId);
          expect(supposed.path, 'the run has the steps that the dry run predicts').to.deep.equal(path);
          expect([supposed.status, supposed.exit_reason, supposed.ended_at]).to.deep.equal([status, reason, ended]);
          const steps = path.map(({ step_id: id, outcome, left_at: left }) => `${left} ${id} ${outcome}`);
          expect([status, ended, ...steps]).to.deep.equal(direct(definition, tags, happening));
        },
      ),
      { numRuns: cases },
    );
  });
});

/** The ids are numbered in reading order. */
function compose(
  list: readonly Draft[],
  exit: { mark: Mark; negate: boolean } | undefined,
  tags: readonly [string, string],
): Definition {
  let count = 0;
  // A draft must not have a condition with two empty branches, so the test uses another step.
  const stepOf = (draft: Draft): Step => {
    const id = `s${(count += 1)}`;
    switch (draft.kind) {
      case 'delay':
        return { id, kind: 'wait', wait: { kind: 'delay', amount: draft.minutes, unit: 'minutes' } };
      case 'points':
        return { id, kind: 'award_points', points: count };
      case 'add':
        return { id, kind: 'add_tag', tag_id: tags[draft.mark] };
      case 'remove':
        return { id, kind: 'remove_tag', tag_id: tags[draft.mark] };
      case 'exit':
        return { id, kind: 'exit' };
      case 'if':
      case 'until': {
        const condition = conditionOf(draft, tags);
        const branches = { then: stepsOf(draft.then), else: stepsOf(draft.else) };
        if (draft.kind === 'until')
          return { id, kind: 'wait', wait: { kind: 'until_condition', days: 1 }, condition, ...branches };
        return branches.then.length + branches.else.length === 0
          ? { id, kind: 'award_points', points: count }
          : { id, kind: 'condition', condition, ...branches };
      }
    }
  };
  const stepsOf = (drafted: readonly Draft[]) => {
    const end = drafted.findIndex(({ kind }) => kind === 'exit');
    return (end < 0 ? drafted : drafted.slice(0, end + 1)).map(stepOf);
  };
  return {
    trigger: { kind: 'manual' },
    reentry: 'always',
    exit_on_access_lost: false,
    ...(exit && { exit_when: conditionOf(exit, tags) }),
    steps: stepsOf(list),
  };
}

const conditionOf = ({ mark: which, negate }: { mark: Mark; negate: boolean }, tags: readonly [string, string]) => ({
  match: 'all' as const,
  rules: [{ kind: 'has_tag' as const, negate, tag_ids: [tags[which]] }],
});

function direct(definition: Definition, tags: readonly [string, string], happening: readonly Event[]): unknown[] {
  const open = happening.toSorted((one, other) => one.at - other.at);
  const has = new Set<string>();
  const outcomes: string[] = [];
  let now = start.getTime();
  const iso = () => new Date(now).toISOString();
  const holds = (condition: Step['condition']) => {
    const [rule] = condition?.rules ?? [];
    return rule !== undefined && has.has(rule.tag_ids?.[0] ?? '') !== rule.negate;
  };
  const ends = () => definition.exit_when !== undefined && holds(definition.exit_when);
  const tell = (id: string, outcome: string) => void outcomes.push(`${iso()} ${id} ${outcome}`);
  class Left extends Error {}
  const waitUntil = (deadline: number, isOver: () => boolean) => {
    while (!isOver()) {
      const next = open[0];
      const at = next === undefined ? Number.POSITIVE_INFINITY : start.getTime() + next.at * 1_000;
      if (next === undefined || at > deadline) return void (now = deadline);
      open.shift();
      now = Math.max(now, at);
      if (next.on) has.add(tags[next.mark]);
      else has.delete(tags[next.mark]);
    }
  };
  const read = (steps: readonly Step[], isFirst: boolean) => {
    for (const [place, step] of steps.entries()) {
      const { id, tag_id: tag = '', wait } = step;
      if (step.kind === 'wait' && wait?.kind === 'delay') {
        // A run that begins with the wait has no row yet. Every other run has a row.
        if (ends() && isFirst && place === 0) throw new Left();
        waitUntil(now + (wait.amount ?? 0) * minute, ends);
        if (ends()) {
          tell(id, 'exit_when');
          throw new Left();
        }
        tell(id, 'time_over');
        continue;
      }
      if (ends()) throw new Left();
      if (step.kind === 'wait') {
        const deadline = now + 24 * 60 * minute;
        if (!holds(step.condition)) {
          waitUntil(deadline, () => ends() || holds(step.condition));
          if (ends()) {
            tell(id, 'exit_when');
            throw new Left();
          }
        }
        const branch = holds(step.condition) ? 'then' : 'else';
        tell(id, branch);
        read(step[branch] ?? [], false);
      } else if (step.kind === 'condition') {
        const branch = holds(step.condition) ? 'then' : 'else';
        tell(id, branch);
        read(step[branch] ?? [], false);
      } else if (step.kind === 'exit') {
        tell(id, 'exit_step');
        throw new Left();
      } else if (step.kind === 'add_tag') {
        tell(id, has.has(tag) ? 'tagged_already' : 'tagged');
        has.add(tag);
      } else if (step.kind === 'remove_tag') {
        tell(id, has.has(tag) ? 'untagged' : 'not_tagged');
        has.delete(tag);
      } else tell(id, 'awarded');
    }
  };
  try {
    read(definition.steps, true);
    return ['completed', iso(), ...outcomes];
  } catch (error) {
    if (!(error instanceof Left)) throw error;
    return ['exited', iso(), ...outcomes];
  }
}
