/**
 * Checks the limits of a draft when it is saved (AUTO-7). Any other fault does not prevent saving, but is reported as a problem before the
 * publication. The functions are pure.
 */
import { conditionRules } from '../conditions/bounds.policy.ts';
import { branches, triggerLists, type Definition, type Step, type Wait } from './versions/definition.policy.ts';

const definitionRules = {
  depth: 10,
  steps: 200,
  waitDays: 366,
  bytes: 262_144,
  stepIdCharacters: 100,
  noteCharacters: 1_000,
  points: 1_000_000,
} as const;

const minuteOfUnit = { minutes: 1, hours: 60, days: 1_440, weeks: 10_080 } as const;

/** @returns the length of a delay in minutes */
export const minutesOf = ({ amount = 0, unit = 'minutes' }: Wait): number => amount * minuteOfUnit[unit];

/**
 * @returns the reason why the draft cannot be saved, or undefined if it can be saved. The check uses a loop and no recursion, because a
 * request can be nested to any depth
 */
export function exceeded(definition: Definition): string | undefined {
  const { depth, steps, bytes } = definitionRules;
  let count = 0;
  const open = [{ list: definition.steps, depth: 1, path: 'draft/steps' }];
  for (let at = open.pop(); at; at = open.pop()) {
    if (at.depth > depth && at.list.length > 0) return `${at.path}: steps are nested more than ${depth} deep.`;
    count += at.list.length;
    if (count > steps) return `draft/steps: the draft has more than ${steps} steps.`;
    for (const [index, step] of at.list.entries()) {
      const path = `${at.path}/${index}`;
      const problem = exceededBy(step);
      if (problem !== undefined) return `${path}/${problem}`;
      for (const branch of branches)
        open.push({ list: step[branch] ?? [], depth: at.depth + 1, path: `${path}/${branch}` });
    }
  }
  if (Buffer.byteLength(JSON.stringify(definition)) > bytes)
    return `draft: the definition has more than ${bytes} bytes.`;
  const long = triggerLists.find((list) => (definition.trigger[list]?.length ?? 0) > conditionRules.ids);
  if (long !== undefined) return `draft/trigger/${long}: the list has more than ${conditionRules.ids} ids.`;
  const exit = exceededByCondition(definition.exit_when);
  return exit === undefined ? undefined : `draft/exit_when/${exit}`;
}

function exceededBy({ id, note = '', points = 0, wait, condition }: Step): string | undefined {
  const { stepIdCharacters, noteCharacters, points: most, waitDays } = definitionRules;
  if (id.length > stepIdCharacters) return `id: longer than ${stepIdCharacters} characters.`;
  if (note.length > noteCharacters) return `note: longer than ${noteCharacters} characters.`;
  if (Math.abs(points) > most) return `points: must be between -${most} and ${most}.`;
  if (wait !== undefined) {
    const days = wait.kind === 'delay' ? minutesOf(wait) / 1_440 : (wait.days ?? 0);
    if (days > waitDays) return `wait: longer than ${waitDays} days.`;
    if (wait.kind !== 'delay' && (wait.amount ?? 0) > 1_439)
      return 'wait/amount: must be a minute of the day, from 0 to 1439.';
  }
  const problem = exceededByCondition(condition);
  return problem === undefined ? undefined : `condition/${problem}`;
}

const idLists = ['delivery_ids', 'cohort_ids', 'product_ids', 'tag_ids'] as const;

function exceededByCondition(condition: Step['condition']): string | undefined {
  if (condition === undefined) return undefined;
  const { rules: most, ids } = conditionRules;
  if (condition.rules.length > most) return `rules: the condition has more than ${most} rules.`;
  for (const [index, rule] of condition.rules.entries()) {
    const long = idLists.find((list) => (rule[list]?.length ?? 0) > ids);
    if (long !== undefined) return `rules/${index}/${long}: the list has more than ${ids} ids.`;
    if ((rule.step_id?.length ?? 0) > definitionRules.stepIdCharacters)
      return `rules/${index}/step_id: longer than ${definitionRules.stepIdCharacters} characters.`;
  }
  return undefined;
}
