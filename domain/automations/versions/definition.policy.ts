/**
 * Defines the form of an automation's definition, and the order of its steps. A definition is stored in the form of the API contract, so
 * its fields have the contract's names. The functions are pure.
 */
import type { Reentry, TriggerKind } from '../../../entities/automations/values.ts';
import type { Condition } from '../../conditions/conditions.ts';
import type { EmailContent } from '../../mail/content/email-content.ts';

/**
 * The number of the language in which definitions are written today. The code refuses to read a version with a different number (AUTO-9).
 */
export const languageOfToday = 1;

export const stepKinds = ['send_email', 'wait', 'condition', 'add_tag', 'remove_tag', 'award_points', 'exit'] as const;
export type StepKind = (typeof stepKinds)[number];

export const triggerLists = [
  'delivery_ids',
  'product_ids',
  'course_ids',
  'lesson_ids',
  'tag_ids',
  'level_ids',
] as const;
export type TriggerList = (typeof triggerLists)[number];

export interface Trigger extends Partial<Record<TriggerList, readonly string[]>> {
  kind: TriggerKind;
}

export interface Wait {
  kind: 'delay' | 'until_condition' | 'until_time';
  amount?: number;
  unit?: 'minutes' | 'hours' | 'days' | 'weeks';
  days?: number;
}

export interface Step {
  /** An id that the designer has chosen. */
  id: string;
  kind: StepKind;
  points?: number;
  note?: string;
  tag_id?: string;
  email?: EmailContent;
  wait?: Wait;
  condition?: Condition;
  then?: readonly Step[];
  else?: readonly Step[];
}

export interface Definition {
  trigger: Trigger;
  reentry: Reentry;
  exit_on_access_lost: boolean;
  exit_when?: Condition;
  steps: readonly Step[];
}

export const branches = ['then', 'else'] as const;
export type Branch = (typeof branches)[number];

/** A step, and the position of this step in the definition. */
export interface PlacedStep {
  step: Step;
  /** The JSON path of the step, such as `$.steps[1].then[0]`. */
  path: string;
  /** The number of the step in reading order, from 1. A run passes its steps in this order. */
  number: number;
  /** The step and branch around this step. */
  parent?: { id: string; branch: Branch };
  /** The id of the step that follows this step and its branches. Null at the end. */
  following: string | null;
}

/** @returns the e-mails of a definition, even in steps that send no e-mail */
export function emailsOf(definition: Pick<Definition, 'steps'>): EmailContent[] {
  return placedSteps(definition).flatMap(({ step }) => step.email ?? []);
}

/** @returns every step in reading order, without recursion */
export function placedSteps({ steps }: Pick<Definition, 'steps'>): PlacedStep[] {
  const placed: PlacedStep[] = [];
  interface Open {
    list: readonly Step[];
    index: number;
    path: string;
    parent?: PlacedStep['parent'];
    /** The id of the step that follows this list of steps. */
    after: string | null;
  }
  const open: Open[] = [{ list: steps, index: 0, path: '$.steps', after: null }];
  for (let at = open.pop(); at; at = open.pop()) {
    const step = at.list[at.index];
    if (step === undefined) continue;
    const { path, parent } = at;
    const following = at.list[at.index + 1]?.id ?? at.after;
    open.push({ ...at, index: at.index + 1 });
    placed.push({
      step,
      path: `${path}[${at.index}]`,
      number: placed.length + 1,
      ...(parent && { parent }),
      following,
    });
    for (const branch of ['else', 'then'] as const)
      open.push({
        list: step[branch] ?? [],
        index: 0,
        path: `${path}[${at.index}].${branch}`,
        parent: { id: step.id, branch },
        after: following,
      });
  }
  return placed;
}

/** @returns the first step of this branch; if the branch is empty, the step after the condition; null at the end of the definition */
export function firstOf({ step, following }: PlacedStep, branch: Branch): string | null {
  return step[branch]?.[0]?.id ?? following;
}

/** @returns every condition of a definition, with its JSON path */
export function conditionsOf(definition: Definition): { condition: Condition; path: string }[] {
  const { exit_when: exitWhen } = definition;
  return [
    ...(exitWhen ? [{ condition: exitWhen, path: '$.exit_when' }] : []),
    ...placedSteps(definition).flatMap(({ step, path }) =>
      step.condition ? [{ condition: step.condition, path: `${path}.condition` }] : [],
    ),
  ];
}
