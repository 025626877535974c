/**
 * What a run does at a look (AUTO-10). Pure: what is asked of Postgres comes in as answers, and what is done goes out as a decision.
 * Runs, dry runs and the model in tests all decide by it.
 */
import type { AutomationStatus, ExitReason } from '../../entities/automations/values.ts';
import type { EventType } from '../../platform/core/event-types.ts';
import { nextMinuteOfDay } from '../../platform/core/local-time.ts';
import type { Condition, Rule } from '../conditions/conditions.ts';
import { minutesOf } from './bounds.policy.ts';
import { firstOf, stepKinds, type Definition, type PlacedStep, type Step } from './definition.policy.ts';

/** What is true when a run looks. */
export interface Seen {
  automation: AutomationStatus;
  /** Whether `exit_when` holds; false where there is none. */
  exits: boolean;
  /** Whether access that was open is not any more, where that ends a run. */
  accessLost: boolean;
  /** Whether the condition of the step holds; false where it has none. */
  holds: boolean;
  now: Date;
  /** Until when the step waits; null where it does not. */
  deadline: Date | null;
}

export type Decision =
  | { kind: 'exit'; reason: Exclude<ExitReason, 'by_hand' | 'student_removed'> }
  /** The automation is paused. */
  | { kind: 'hold' }
  | { kind: 'wait'; until: Date }
  /** The step is decided. `to`: the next one, null at the end. */
  | { kind: 'pass'; outcome: 'then' | 'else' | 'time_over'; to: string | null }
  /** The step has to be done before the run goes on. */
  | { kind: 'act'; to: string | null }
  | { kind: 'fail'; code: 'unknown_step_kind' };

/** First what ends a run, then the condition, then the deadline. A paused automation does nothing, and archiving one ends its runs. */
export function decide(placed: PlacedStep, seen: Seen): Decision {
  const { step, following } = placed;
  if (seen.automation === 'archived') return { kind: 'exit', reason: 'archived' };
  if (seen.automation === 'paused') return { kind: 'hold' };
  if (seen.exits) return { kind: 'exit', reason: 'exit_when' };
  if (seen.accessLost) return { kind: 'exit', reason: 'access_lost' };
  if (!stepKinds.includes(step.kind)) return { kind: 'fail', code: 'unknown_step_kind' };
  switch (step.kind) {
    case 'exit':
      return { kind: 'exit', reason: 'exit_step' };
    case 'condition': {
      const branch = seen.holds ? 'then' : 'else';
      return { kind: 'pass', outcome: branch, to: firstOf(placed, branch) };
    }
    case 'wait':
      return decideWait(placed, seen);
    case 'send_email':
    case 'add_tag':
    case 'remove_tag':
    case 'award_points':
      return { kind: 'act', to: following };
  }
}

function decideWait(placed: PlacedStep, { holds, now, deadline }: Seen): Decision {
  const isOver = deadline === null || deadline <= now;
  if (placed.step.wait?.kind !== 'until_condition')
    return isOver ? { kind: 'pass', outcome: 'time_over', to: placed.following } : { kind: 'wait', until: deadline };
  if (holds) return { kind: 'pass', outcome: 'then', to: firstOf(placed, 'then') };
  return isOver ? { kind: 'pass', outcome: 'else', to: firstOf(placed, 'else') } : { kind: 'wait', until: deadline };
}

const day = 86_400_000;

/** @returns until when a run waits at a step that it has come to; null where the step waits for nothing. Fixed on entry */
export function deadlineOf({ kind, wait }: Step, timeZone: string, now: Date): Date | null {
  if (kind !== 'wait' || wait === undefined) return null;
  const { amount = 0, days = 0 } = wait;
  switch (wait.kind) {
    case 'delay':
      return new Date(now.getTime() + minutesOf(wait) * 60_000);
    case 'until_condition':
      return new Date(now.getTime() + days * day);
    case 'until_time':
      return nextMinuteOfDay(amount, days, timeZone, now);
  }
}

/**
 * Whether a run that comes to the step begins to wait at once: what ends it was asked a moment ago. It looks first at a step with a
 * condition or an effect.
 */
export const sleepsAt = ({ step: { kind, wait } }: PlacedStep): boolean =>
  kind === 'wait' && wait !== undefined && wait.kind !== 'until_condition';

/** @returns when a waiting run looks again by itself: access that begins or ends before the end of the wait is looked at when it does */
export const nextLook = ({ access }: Pick<Watch, 'access'>, until: Date, nextChange: Date | null): Date =>
  access && nextChange !== null && nextChange < until ? nextChange : until;

/** @returns the step whose condition is asked at a look; conditions of other steps are nobody's business then */
export const asksCondition = ({ step }: PlacedStep): Condition | undefined =>
  step.kind === 'condition' || (step.kind === 'wait' && step.wait?.kind === 'until_condition')
    ? step.condition
    : undefined;

/** @returns whether the rules' answers make the condition true; a condition without rules is never true (AUTO-11) */
export function combine({ match, rules }: Condition, answers: readonly boolean[]): boolean {
  if (rules.length === 0 || answers.length !== rules.length) return false;
  return match === 'all' ? answers.every(Boolean) : answers.some(Boolean);
}

/** What can turn the answers of a waiting run. */
export interface Watch {
  /** Facts. */
  types: EventType[];
  /** Courses whose lessons count. */
  courses: string[];
  /** Access begins and ends by time, too. */
  access: boolean;
}

const accessTypes: readonly EventType[] = [
  'access.granted',
  'access.revoked',
  'access.extended',
  'access.shortened',
  'access.restored',
  'access.moved',
];

const typesOf: Readonly<Record<Rule['kind'], readonly EventType[]>> = {
  has_access: accessTypes,
  has_purchased: ['purchase.paid', 'purchase.refunded'],
  has_tag: ['student.tagged', 'student.untagged'],
  lesson_completed: ['lesson.completed'],
  course_completed: ['course.completed'],
  course_progress: ['lesson.completed'],
  email_opened: [],
  email_clicked: [],
};

/** @returns what a run has to look at again while it waits at this step */
export function watchOf(definition: Definition, placed: PlacedStep): Watch {
  const conditions = [definition.exit_when, asksCondition(placed)].filter((one) => one !== undefined);
  const rules = conditions.flatMap((condition) => condition.rules);
  const access = definition.exit_on_access_lost || rules.some(({ kind }) => kind === 'has_access');
  const types = [...(access ? accessTypes : []), ...rules.flatMap(({ kind }) => typesOf[kind] ?? [])];
  const courses = rules.flatMap(({ kind, course_id: id }) =>
    kind === 'course_progress' && id !== undefined ? [id] : [],
  );
  return { types: [...new Set(types)], courses: [...new Set(courses)], access };
}
