/** What no draft may exceed: it is refused when it is saved (AUTO-7). Everything else that is wrong is a problem, listed later. Pure. */
import { conditionRules } from '../conditions/bounds.policy.ts';
import { branches, triggerLists, type Definition, type Step, type Wait } from './definition.policy.ts';

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

/** @returns the minutes of a delay */
export const minutesOf = ({ amount = 0, unit = 'minutes' }: Wait): number => amount * minuteOfUnit[unit];

/** @returns why the draft cannot be kept; undefined where it can. It does not recurse: a body can nest as deep as it likes */
export function exceeded(definition: Definition): string | undefined {
  const { depth, steps, bytes } = definitionRules;
  let found = 0;
  const open = [{ list: definition.steps, depth: 1, path: 'draft/steps' }];
  for (let at = open.pop(); at; at = open.pop()) {
    if (at.depth > depth && at.list.length > 0) return `${at.path}: steps nest at most ${depth} deep.`;
    found += at.list.length;
    if (found > steps) return `draft/steps: an automation has at most ${steps} steps.`;
    for (const [index, step] of at.list.entries()) {
      const path = `${at.path}/${index}`;
      const problem = exceededBy(step);
      if (problem !== undefined) return `${path}/${problem}`;
      for (const branch of branches)
        open.push({ list: step[branch] ?? [], depth: at.depth + 1, path: `${path}/${branch}` });
    }
  }
  if (Buffer.byteLength(JSON.stringify(definition)) > bytes) return `draft: a definition has at most ${bytes} bytes.`;
  const long = triggerLists.find((list) => (definition.trigger[list]?.length ?? 0) > conditionRules.ids);
  if (long !== undefined) return `draft/trigger/${long}: at most ${conditionRules.ids} ids may stand here.`;
  const exit = exceededByCondition(definition.exit_when);
  return exit === undefined ? undefined : `draft/exit_when/${exit}`;
}

function exceededBy({ id, note = '', points = 0, wait, condition }: Step): string | undefined {
  const { stepIdCharacters, noteCharacters, points: most, waitDays } = definitionRules;
  if (id.length > stepIdCharacters) return `id: at most ${stepIdCharacters} characters may stand here.`;
  if (note.length > noteCharacters) return `note: at most ${noteCharacters} characters may stand here.`;
  if (Math.abs(points) > most) return `points: at most ${most} may be given or taken.`;
  if (wait !== undefined) {
    const days = wait.kind === 'delay' ? minutesOf(wait) / 1_440 : (wait.days ?? 0);
    if (days > waitDays) return `wait: a wait lasts at most ${waitDays} days.`;
    if (wait.kind !== 'delay' && (wait.amount ?? 0) > 1_439) return 'wait/amount: a day has the minutes 0 to 1439.';
  }
  const problem = exceededByCondition(condition);
  return problem === undefined ? undefined : `condition/${problem}`;
}

const idLists = ['delivery_ids', 'cohort_ids', 'product_ids', 'tag_ids'] as const;

function exceededByCondition(condition: Step['condition']): string | undefined {
  if (condition === undefined) return undefined;
  const { rules: most, ids } = conditionRules;
  if (condition.rules.length > most) return `rules: a condition has at most ${most} rules.`;
  for (const [index, rule] of condition.rules.entries()) {
    const long = idLists.find((list) => (rule[list]?.length ?? 0) > ids);
    if (long !== undefined) return `rules/${index}/${long}: at most ${ids} ids may stand here.`;
    if ((rule.step_id?.length ?? 0) > definitionRules.stepIdCharacters) return `rules/${index}/step_id: too long.`;
  }
  return undefined;
}
