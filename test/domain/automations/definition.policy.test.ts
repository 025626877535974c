import { expect } from 'chai';
import { exceeded, minutesOf } from '../../../domain/automations/bounds.policy.ts';
import {
  conditionsOf,
  emailsOf,
  firstOf,
  languageOfToday,
  placedSteps,
  type Definition,
  type Step,
} from '../../../domain/automations/versions/definition.policy.ts';
import type { Condition } from '../../../domain/conditions/conditions.ts';
import type { EmailContent } from '../../../domain/mail/content/email-content.ts';

const condition = (changes: Partial<Condition> = {}): Condition => ({
  match: 'all',
  rules: [{ kind: 'has_tag', negate: false }],
  ...changes,
});
const email = (subject: string) => ({ subject }) as EmailContent;
const tag = (id: string): Step => ({ id, kind: 'add_tag' });
const asks = (id: string, changes: Partial<Step> = {}): Step => ({ id, kind: 'condition', ...changes });

const definition = (changes: Partial<Definition> = {}): Definition => ({
  trigger: { kind: 'student_tagged' },
  reentry: 'once',
  exit_on_access_lost: false,
  steps: [],
  ...changes,
});

const tree: readonly Step[] = [
  { ...tag('a'), email: email('first') },
  asks('b', {
    condition: condition({ match: 'any' }),
    then: [asks('c', { condition: condition(), then: [tag('d')] }), tag('e')],
    else: [{ ...tag('f'), email: email('second') }],
  }),
  tag('g'),
];

describe('the list of a definition’s steps', () => {
  it('gives each step its path, its parent and the next step, in reading order', () => {
    const steps = placedSteps({ steps: tree }).map(({ step, ...place }) => ({ id: step.id, ...place }));
    expect(steps).to.deep.equal([
      { id: 'a', path: '$.steps[0]', number: 1, following: 'b' },
      { id: 'b', path: '$.steps[1]', number: 2, following: 'g' },
      { id: 'c', path: '$.steps[1].then[0]', number: 3, parent: { id: 'b', branch: 'then' }, following: 'e' },
      { id: 'd', path: '$.steps[1].then[0].then[0]', number: 4, parent: { id: 'c', branch: 'then' }, following: 'e' },
      { id: 'e', path: '$.steps[1].then[1]', number: 5, parent: { id: 'b', branch: 'then' }, following: 'g' },
      { id: 'f', path: '$.steps[1].else[0]', number: 6, parent: { id: 'b', branch: 'else' }, following: 'g' },
      { id: 'g', path: '$.steps[2]', number: 7, following: null },
    ]);
    expect(placedSteps({ steps: [] })).to.deep.equal([]);
  });

  it('continues with the first step of a branch, or after the branch if the branch is empty', () => {
    const next = placedSteps({ steps: tree }).map((placed) => [firstOf(placed, 'then'), firstOf(placed, 'else')]);
    expect(next).to.deep.equal([
      ['b', 'b'],
      ['c', 'f'],
      ['d', 'e'],
      ['e', 'e'],
      ['g', 'g'],
      ['g', 'g'],
      [null, null],
    ]);
  });

  it('contains the e-mails and conditions inside branches', () => {
    expect(emailsOf({ steps: tree })).to.deep.equal([email('first'), email('second')]);
    expect(conditionsOf(definition({ steps: tree }))).to.deep.equal([
      { condition: condition({ match: 'any' }), path: '$.steps[1].condition' },
      { condition: condition(), path: '$.steps[1].then[0].condition' },
    ]);
    expect(conditionsOf(definition({ exit_when: condition() }))).to.deep.equal([
      { condition: condition(), path: '$.exit_when' },
    ]);
  });

  it('has its texts in the club’s first language', () => {
    expect(languageOfToday).to.equal(1);
  });
});

function nested(depth: number, branch: 'then' | 'else' = 'then'): Step {
  let step: Step = asks('inner', { then: [], else: [] });
  for (let count = 1; count < depth; count++) step = asks(`at ${count}`, { [branch]: [step] });
  return step;
}

const wait = (kind: 'delay' | 'until_condition' | 'until_time', rest: object): Step => ({
  id: 'w',
  kind: 'wait',
  wait: { kind, ...rest },
});
const ids = (count: number) => Array.from({ length: count }, (_, number) => String(number));
const rules = (count: number, rule: object = {}) =>
  condition({ rules: Array.from({ length: count }, () => ({ kind: 'has_tag' as const, negate: false, ...rule })) });
const bytesOf = (one: Definition) => Buffer.byteLength(JSON.stringify(one));
const emptySized = bytesOf(definition({ steps: [{ ...tag('a'), email: email('') }] }));
const sized = (bytes: number) => {
  const remainingBytes = bytes - emptySized;
  return definition({
    steps: [{ ...tag('a'), email: email('a'.repeat(remainingBytes % 2) + 'ä'.repeat(Math.floor(remainingBytes / 2))) }],
  });
};

describe('a draft (AUTO-7)', () => {
  for (const [what, accepted, refused, message] of [
    [
      '10 levels of steps',
      definition({ steps: [nested(10)] }),
      definition({ steps: [nested(11)] }),
      `draft/steps${'/0/then'.repeat(10)}: steps are nested more than 10 deep.`,
    ],
    [
      '10 levels of steps in else',
      definition({ steps: [tag('a'), nested(10, 'else')] }),
      definition({ steps: [tag('a'), nested(11, 'else')] }),
      `draft/steps/1/else${'/0/else'.repeat(9)}: steps are nested more than 10 deep.`,
    ],
    [
      '200 steps, also over branches',
      definition({ steps: [asks('a', { then: ids(100).map(tag), else: ids(99).map(tag) })] }),
      definition({ steps: [asks('a', { then: ids(100).map(tag), else: ids(100).map(tag) })] }),
      'draft/steps: the draft has more than 200 steps.',
    ],
    [
      'ids of 100 characters',
      definition({ steps: [tag('x'.repeat(100))] }),
      definition({ steps: [tag('x'.repeat(101))] }),
      'draft/steps/0/id: longer than 100 characters.',
    ],
    [
      'notes of 1,000 characters',
      definition({ steps: [{ ...tag('a'), note: 'x'.repeat(1_000) }] }),
      definition({ steps: [{ ...tag('a'), note: 'x'.repeat(1_001) }] }),
      'draft/steps/0/note: longer than 1000 characters.',
    ],
    [
      'a million points',
      definition({ steps: [{ ...tag('a'), points: 1_000_000 }] }),
      definition({ steps: [{ ...tag('a'), points: 1_000_001 }] }),
      'draft/steps/0/points: must be between -1000000 and 1000000.',
    ],
    [
      'a million points that a step takes from the student',
      definition({ steps: [{ ...tag('a'), points: -1_000_000 }] }),
      definition({ steps: [{ ...tag('a'), points: -1_000_001 }] }),
      'draft/steps/0/points: must be between -1000000 and 1000000.',
    ],
    [
      'a delay of 366 days',
      definition({ steps: [wait('delay', { amount: 366, unit: 'days', days: 1_000 })] }),
      definition({ steps: [wait('delay', { amount: 366 * 1_440 + 1, unit: 'minutes' })] }),
      'draft/steps/0/wait: longer than 366 days.',
    ],
    [
      'a wait of 366 days for a condition',
      definition({ steps: [wait('until_condition', { days: 366 })] }),
      definition({ steps: [wait('until_condition', { days: 367 })] }),
      'draft/steps/0/wait: longer than 366 days.',
    ],
    [
      'a wait until the last minute of a day',
      definition({ steps: [wait('until_time', { amount: 1_439 }), wait('delay', { amount: 1_440 })] }),
      definition({ steps: [tag('a'), wait('until_time', { amount: 1_440 })] }),
      'draft/steps/1/wait/amount: must be a minute of the day, from 0 to 1439.',
    ],
    ['262,144 bytes', sized(262_144), sized(262_145), 'draft: the definition has more than 262144 bytes.'],
    [
      '20 rules in a condition',
      definition({ steps: [asks('a', { condition: rules(20) })] }),
      definition({ steps: [asks('a', { condition: rules(21) })] }),
      'draft/steps/0/condition/rules: the condition has more than 20 rules.',
    ],
    [
      '20 rules in exit_when',
      definition({ exit_when: rules(20) }),
      definition({ exit_when: rules(21) }),
      'draft/exit_when/rules: the condition has more than 20 rules.',
    ],
    [
      'step ids of 100 characters in a rule',
      definition({ exit_when: rules(2, { step_id: 'x'.repeat(100) }) }),
      definition({ exit_when: rules(2, { step_id: 'x'.repeat(101) }) }),
      'draft/exit_when/rules/0/step_id: longer than 100 characters.',
    ],
    ...(['delivery_ids', 'cohort_ids', 'product_ids', 'tag_ids'] as const).map(
      (list) =>
        [
          `100 ids in ${list} of a rule`,
          definition({ exit_when: rules(1, { [list]: ids(100) }) }),
          definition({ exit_when: rules(1, { [list]: ids(101) }) }),
          `draft/exit_when/rules/0/${list}: the list has more than 100 ids.`,
        ] as const,
    ),
    ...(['delivery_ids', 'product_ids', 'course_ids', 'lesson_ids', 'tag_ids', 'level_ids'] as const).map(
      (list) =>
        [
          `100 ids in ${list} of its trigger`,
          definition({ trigger: { ...definition().trigger, [list]: ids(100) } }),
          definition({ trigger: { ...definition().trigger, [list]: ids(101) } }),
          `draft/trigger/${list}: the list has more than 100 ids.`,
        ] as const,
    ),
  ] as const)
    it(`is accepted at the limit and refused above the limit: ${what}`, () => {
      expect(exceeded(accepted)).to.equal(undefined);
      expect(exceeded(refused)).to.equal(message);
    });

  it('is accepted without steps', () => {
    expect(exceeded(definition())).to.equal(undefined);
  });

  it('has a limit in bytes, not in characters', () => {
    expect(bytesOf(sized(262_144))).to.equal(262_144);
  });
});

describe('the minutes of a delay', () => {
  it('are 0 without an amount, and equal the amount without a unit', () => {
    expect([minutesOf({ kind: 'delay' }), minutesOf({ kind: 'delay', amount: 3 })]).to.deep.equal([0, 3]);
    expect(
      (['minutes', 'hours', 'days', 'weeks'] as const).map((unit) => minutesOf({ kind: 'delay', amount: 2, unit })),
    ).to.deep.equal([2, 120, 2_880, 20_160]);
  });
});
