/**
 * Decides what a run does next (AUTO-10). The functions are pure: they get values that were read from Postgres, and return a decision.
 * Runs, dry runs and the model in tests all use them.
 */
import type { AutomationStatus, ExitReason } from '../../entities/automations/values.ts';
import type { EventType } from '../../platform/core/event-types.ts';
import { nextMinuteOfDay } from '../../platform/core/time/local-time.ts';
import type { Condition, Rule } from '../conditions/conditions.ts';
import { minutesOf } from './bounds.policy.ts';
import { firstOf, stepKinds, type Definition, type PlacedStep, type Step } from './versions/definition.policy.ts';

export interface Seen {
  automation: AutomationStatus;
  /** Whether `exit_when` is true. False if the automation has no `exit_when`. */
  exits: boolean;
  /** Whether the student has lost the access for which the run was started. True only if the automation ends its runs in this case. */
  accessLost: boolean;
  /** Whether the condition of the step is true. False if the step has no condition. */
  holds: boolean;
  now: Date;
  /** The end of the step's wait. Null if the step does not wait. */
  deadline: Date | null;
}

export type Decision =
  | { kind: 'exit'; reason: Exclude<ExitReason, 'by_hand' | 'student_removed'> }
  /** The automation is paused, so the run does nothing. */
  | { kind: 'hold' }
  | { kind: 'wait'; until: Date }
  /** The step is complete. `to` is the next step, or null at the end. */
  | { kind: 'pass'; outcome: 'then' | 'else' | 'time_over'; to: string | null }
  /** The step has an effect, such as a tag, which must happen before the run continues at `to`. */
  | { kind: 'act'; to: string | null }
  | { kind: 'fail'; code: 'unknown_step_kind' };

/**
 * Decides what the run does now: first come the reasons that end a run, then the condition of the step, then the deadline. The runs of a
 * paused automation do nothing, and the runs of an archived automation end.
 */
export function decide(placed: PlacedStep, facts: Seen): Decision {
  const { step, following } = placed;
  if (facts.automation === 'archived') return { kind: 'exit', reason: 'archived' };
  if (facts.automation === 'paused') return { kind: 'hold' };
  if (facts.exits) return { kind: 'exit', reason: 'exit_when' };
  if (facts.accessLost) return { kind: 'exit', reason: 'access_lost' };
  if (!stepKinds.includes(step.kind)) return { kind: 'fail', code: 'unknown_step_kind' };
  switch (step.kind) {
    case 'exit':
      return { kind: 'exit', reason: 'exit_step' };
    case 'condition': {
      const branch = facts.holds ? 'then' : 'else';
      return { kind: 'pass', outcome: branch, to: firstOf(placed, branch) };
    }
    case 'wait':
      return decideWait(placed, facts);
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

/** @returns the end of the wait at a step; null if the step does not wait. The end is fixed when the run enters the step */
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
 * Whether a run that enters this step can wait immediately, because the reasons to exit were checked just before. A step with a condition
 * or an effect must be evaluated first.
 */
export const sleepsAt = ({ step: { kind, wait } }: PlacedStep): boolean =>
  kind === 'wait' && wait !== undefined && wait.kind !== 'until_condition';

/** @returns when a waiting run is evaluated again: at the end of the wait, or earlier when access begins or ends */
export const nextLook = ({ access }: Pick<Watch, 'access'>, until: Date, nextChange: Date | null): Date =>
  access && nextChange !== null && nextChange < until ? nextChange : until;

/** @returns the condition to evaluate while the run is at this step */
export const asksCondition = ({ step }: PlacedStep): Condition | undefined =>
  step.kind === 'condition' || (step.kind === 'wait' && step.wait?.kind === 'until_condition')
    ? step.condition
    : undefined;

/** @returns whether the condition is true, if its rules have these answers. A condition without rules is never true (AUTO-11) */
export function combine({ match, rules }: Condition, answers: readonly boolean[]): boolean {
  if (rules.length === 0 || answers.length !== rules.length) return false;
  return match === 'all' ? answers.every(Boolean) : answers.some(Boolean);
}

/** The changes after which a waiting run must evaluate its rules again. */
export interface Watch {
  /** The types of facts after which the run evaluates its rules again. */
  types: EventType[];
  /** The courses that the rules check. If lessons of these courses are published or withdrawn, the answers may change. */
  courses: string[];
  /** Whether the answers depend on access that begins or ends because of its dates. */
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

/** @returns the changes after which a run that waits at this step must be evaluated again */
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
