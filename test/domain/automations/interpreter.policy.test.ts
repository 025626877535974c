import { expect } from 'chai';
import { linksAfter, isTooLong } from '../../../domain/automations/versions/links.policy.ts';
import { placedSteps, type Definition, type Step } from '../../../domain/automations/versions/definition.policy.ts';
import {
  asksCondition,
  combine,
  deadlineOf,
  decide,
  nextLook,
  sleepsAt,
  watchOf,
  type Seen,
} from '../../../domain/automations/interpreter.policy.ts';
import { deadlineOnEntry } from '../../../domain/automations/wait-speed.policy.ts';
import type { Condition } from '../../../domain/conditions/conditions.ts';

const now = new Date('2026-03-01T12:00:00.000Z');
const at = (ms: number) => new Date(now.getTime() + ms);
const day = 86_400_000;
const course = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const completed: Condition = { match: 'all', rules: [{ kind: 'course_completed', negate: false, course_id: course }] };

const steps = {
  tag: { id: 'tag', kind: 'add_tag' },
  delay: { id: 'delay', kind: 'wait', wait: { kind: 'delay', amount: 2, unit: 'days' } },
  until: {
    id: 'until',
    kind: 'wait',
    wait: { kind: 'until_condition', days: 3 },
    condition: completed,
    then: [{ id: 'yes', kind: 'exit' }],
    else: [{ id: 'no', kind: 'exit' }],
  },
  asks: { id: 'asks', kind: 'condition', condition: completed, then: [{ id: 'then', kind: 'exit' }], else: [] },
  leaves: { id: 'leaves', kind: 'exit' },
} as const satisfies Record<string, Step>;

function placed(step: Step) {
  const [found] = placedSteps({ steps: [step, { id: 'last', kind: 'exit' }] });
  if (!found) throw new Error('The definition has no step');
  return found;
}

const facts: Seen = {
  automation: 'active',
  exits: false,
  accessLost: false,
  holds: false,
  now,
  deadline: null,
};

describe('the decision of a run (AUTO-10)', () => {
  for (const [what, step, changes, decision] of [
    [
      'ends the run because the automation is archived, even if other reasons exist',
      steps.tag,
      { automation: 'archived', exits: true, accessLost: true },
      { kind: 'exit', reason: 'archived' },
    ],
    [
      'holds the run because the automation is paused, even if exit_when is true',
      steps.tag,
      { automation: 'paused', exits: true, accessLost: true },
      { kind: 'hold' },
    ],
    [
      'ends the run because of exit_when, even if access is lost too',
      steps.tag,
      { exits: true, accessLost: true },
      { kind: 'exit', reason: 'exit_when' },
    ],
    [
      'ends the run before the next step if access is lost',
      steps.tag,
      { accessLost: true },
      { kind: 'exit', reason: 'access_lost' },
    ],
    [
      'fails the run at a step of a kind that a later version defines',
      { id: 'x', kind: 'fly' as Step['kind'] },
      {},
      { kind: 'fail', code: 'unknown_step_kind' },
    ],
    ['ends the run at an exit step', steps.leaves, {}, { kind: 'exit', reason: 'exit_step' }],
    ['applies an effect and then continues', steps.tag, {}, { kind: 'act', to: 'last' }],
    [
      'enters the `then` branch of a condition that is true',
      steps.asks,
      { holds: true },
      { kind: 'pass', outcome: 'then', to: 'then' },
    ],
    [
      'continues after a condition that is false if the `else` branch is empty',
      steps.asks,
      {},
      { kind: 'pass', outcome: 'else', to: 'last' },
    ],
    ['waits at a delay until its deadline', steps.delay, { deadline: at(1) }, { kind: 'wait', until: at(1) }],
    [
      'ends a delay at its deadline',
      steps.delay,
      { deadline: now },
      { kind: 'pass', outcome: 'time_over', to: 'last' },
    ],
    [
      'does not end a delay because a condition is true',
      steps.delay,
      { deadline: at(1), holds: true },
      { kind: 'wait', until: at(1) },
    ],
    [
      'waits as long as the condition of the wait is false',
      steps.until,
      { deadline: at(1) },
      { kind: 'wait', until: at(1) },
    ],
    [
      'ends a wait for a condition as soon as the condition is true, before or after the deadline',
      steps.until,
      { deadline: at(-1), holds: true },
      { kind: 'pass', outcome: 'then', to: 'yes' },
    ],
    [
      'enters the `else` branch after the deadline of a wait for a condition',
      steps.until,
      { deadline: now },
      { kind: 'pass', outcome: 'else', to: 'no' },
    ],
    [
      'continues immediately at a wait that has no deadline',
      steps.until,
      {},
      { kind: 'pass', outcome: 'else', to: 'no' },
    ],
  ] as const)
    it(what, () => {
      expect(decide(placed(step), { ...facts, ...changes })).to.deep.equal(decision);
    });
});

describe('the deadline of a wait', () => {
  const zone = 'Europe/Berlin';
  for (const [unit, minutes] of [
    ['minutes', 1],
    ['hours', 60],
    ['days', 1_440],
    ['weeks', 10_080],
  ] as const)
    it(`is exactly 3 ${unit} after the entry`, () => {
      const step: Step = { id: 'a', kind: 'wait', wait: { kind: 'delay', amount: 3, unit } };
      expect(deadlineOf(step, zone, now)).to.deep.equal(at(3 * minutes * 60_000));
    });

  it('is a whole number of days after the entry if the step waits for a condition', () => {
    expect(deadlineOf(steps.until, zone, now)).to.deep.equal(at(3 * day));
  });

  it('is the given minute of the local day if the step waits for a time of day', () => {
    const step: Step = { id: 'a', kind: 'wait', wait: { kind: 'until_time', amount: 9 * 60 } };
    expect(deadlineOf(step, zone, now)).to.deep.equal(new Date('2026-03-02T08:00:00.000Z'));
  });

  it('is absent for a step that does not wait', () => {
    expect(deadlineOf(steps.tag, zone, now)).to.equal(null);
    expect(deadlineOf({ ...steps.delay, kind: 'add_tag' }, zone, now)).to.equal(null);
    expect(deadlineOf({ id: 'a', kind: 'wait' }, zone, now)).to.equal(null);
  });

  it('is divided by the wait speed, and rounded up to a millisecond', () => {
    expect(deadlineOnEntry(steps.delay, { timeZone: zone }, now)).to.deep.equal(at(2 * day));
    expect(deadlineOnEntry(steps.delay, { timeZone: zone, waitSpeed: 7 }, now)).to.deep.equal(
      at(Math.ceil((2 * day) / 7)),
    );
    expect(deadlineOnEntry(steps.tag, { timeZone: zone, waitSpeed: 7 }, now)).to.equal(null);
  });
});

describe('the plan for the next evaluation of a run', () => {
  const definition: Definition = {
    trigger: { kind: 'manual' } as unknown as Definition['trigger'],
    reentry: 'never' as Definition['reentry'],
    exit_on_access_lost: false,
    steps: [],
  };
  const watching = (rules: Condition['rules'], more: Partial<Definition> = {}) =>
    watchOf({ ...definition, ...more }, placed({ ...steps.until, condition: { match: 'any', rules } }));

  it('lets a run sleep at a delay without an evaluation', () => {
    expect(Object.values(steps).filter((step) => sleepsAt(placed(step)))).to.deep.equal([steps.delay]);
    expect(sleepsAt(placed({ id: 'a', kind: 'wait' }))).to.equal(false);
    expect(sleepsAt(placed({ ...steps.delay, kind: 'exit' }))).to.equal(false);
  });

  it('ignores a wait step that defines no wait', () => {
    const bare = placed({ id: 'a', kind: 'wait', condition: completed });
    expect([sleepsAt(bare), asksCondition(bare)]).to.deep.equal([false, undefined]);
    expect(decide(bare, facts)).to.deep.equal({ kind: 'pass', outcome: 'time_over', to: 'last' });
  });

  it('evaluates only the condition of a condition step or of a wait for it', () => {
    expect(Object.values(steps).filter((step) => asksCondition(placed(step)))).to.deep.equal([steps.until, steps.asks]);
    expect(asksCondition(placed({ ...steps.delay, condition: completed }))).to.equal(undefined);
    expect(asksCondition(placed({ ...steps.tag, condition: completed }))).to.equal(undefined);
    expect(asksCondition(placed({ ...steps.until, kind: 'add_tag' }))).to.equal(undefined);
  });

  it('is earlier if access changes before the end of the wait', () => {
    expect(nextLook({ access: true }, at(9), at(5))).to.deep.equal(at(5));
    expect(nextLook({ access: true }, at(5), at(5))).to.deep.equal(at(5));
    expect(nextLook({ access: true }, at(5), at(9))).to.deep.equal(at(5));
    expect(nextLook({ access: true }, at(5), null)).to.deep.equal(at(5));
    expect(nextLook({ access: false }, at(9), at(5))).to.deep.equal(at(9));
  });

  for (const [kind, types] of [
    ['has_purchased', ['purchase.paid', 'purchase.refunded']],
    ['has_tag', ['student.tagged', 'student.untagged']],
    ['lesson_completed', ['lesson.completed']],
    ['course_completed', ['course.completed']],
    ['email_opened', []],
    ['email_clicked', []],
  ] as const)
    it(`watches ${types.join(' and ') || 'no fact'} for ${kind}`, () => {
      expect(watching([{ kind, negate: false }])).to.deep.equal({ types, courses: [], access: false });
    });

  const access = ['granted', 'revoked', 'extended', 'shortened', 'restored', 'moved'].map((one) => `access.${one}`);

  it('watches facts and times of access if a rule or the run needs access', () => {
    expect(watching([{ kind: 'has_access', negate: true }])).to.deep.equal({
      types: access,
      courses: [],
      access: true,
    });
    expect(watching([], { exit_on_access_lost: true })).to.deep.equal({ types: access, courses: [], access: true });
  });

  it('watches only the course whose progress a rule names', () => {
    const watch = watching([
      { kind: 'course_progress', negate: false, course_id: course },
      { kind: 'course_progress', negate: true, course_id: course },
      { kind: 'course_completed', negate: false, course_id: 'another' },
    ]);
    expect(watch).to.deep.equal({ types: ['lesson.completed', 'course.completed'], courses: [course], access: false });
  });

  it('watches access if one of several rules needs it', () => {
    const watch = watching([
      { kind: 'has_tag', negate: false },
      { kind: 'has_access', negate: false },
    ]);
    expect(watch).to.deep.equal({
      types: [...access, 'student.tagged', 'student.untagged'],
      courses: [],
      access: true,
    });
  });

  it('watches nothing for a rule of an unknown kind', () => {
    const nothing = { types: [], courses: [], access: false };
    expect(watching([{ kind: 'has_wings' as 'has_tag', negate: false }])).to.deep.equal(nothing);
    expect(watching([{ kind: 'course_progress', negate: false }])).to.deep.equal({
      ...nothing,
      types: ['lesson.completed'],
    });
  });

  it('watches the facts of exit_when at each wait', () => {
    const watch = watchOf({ ...definition, exit_when: completed }, placed(steps.delay));
    expect(watch).to.deep.equal({ types: ['course.completed'], courses: [], access: false });
  });
});

describe('a condition', () => {
  const rule = completed.rules[0] ?? { kind: 'has_tag', negate: false };
  const of = (match: 'all' | 'any', answers: readonly boolean[]) =>
    combine({ match, rules: answers.map(() => rule) }, answers);

  it('is true if all rules or any rule is true, depending on `match`', () => {
    expect([
      of('all', [true, true]),
      of('all', [true, false]),
      of('any', [false, true]),
      of('any', [false]),
    ]).to.deep.equal([true, false, true, false]);
  });

  it('is never true if it has no rules, or if the answer of a rule is missing (AUTO-11)', () => {
    expect([of('all', []), of('any', []), combine({ match: 'all', rules: [rule, rule] }, [true])]).to.deep.equal([
      false,
      false,
      false,
    ]);
  });
});

describe('a chain of automations (AUTO-14)', () => {
  const links = (count: number, hoursAgo = 1) =>
    Array.from({ length: count }, () => at(-hoursAgo * 3_600_000).toISOString());

  it('becomes too long at the eleventh link within 24 hours', () => {
    expect([isTooLong(links(10), now), isTooLong(links(11), now)]).to.deep.equal([false, true]);
  });

  it('drops a link that is 24 hours old', () => {
    expect(isTooLong(links(11, 24), now)).to.equal(false);
    expect(isTooLong(links(11, 23.9), now)).to.equal(true);
    expect(linksAfter(links(3, 24), now)).to.deep.equal([now.toISOString()]);
  });

  it('grows by one link, and keeps at most one link more than the limit', () => {
    expect(linksAfter(links(2), now)).to.deep.equal([...links(2), now.toISOString()]);
    expect(linksAfter(links(30), now)).to.deep.equal([...links(10), now.toISOString()]);
  });
});
