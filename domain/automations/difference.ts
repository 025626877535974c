/** What changed between two definitions, by the ids of steps. */
import { isDeepStrictEqual } from 'node:util';
import { placedSteps, type Definition, type PlacedStep } from './definition.policy.ts';

export interface StepDifference {
  id: string;
  kind: string;
}

export interface Difference {
  /** Fields beside the steps: `trigger`, `reentry`, `exit_on_access_lost`, `exit_when`. */
  changed_fields: string[];
  added: StepDifference[];
  removed: StepDifference[];
  /** In another branch, or behind another step than before. */
  moved: StepDifference[];
  /** With other fields than before; a changed branch shows at its own steps. */
  changed: (StepDifference & { fields: string[] })[];
}

const settings = ['trigger', 'reentry', 'exit_on_access_lost', 'exit_when'] as const;
const ofBranches = ['id', 'then', 'else'];

/** @returns what it takes to get from one definition to the other, in the order of the later one; of removed steps in that of the earlier */
export function differenceOf(before: Definition, after: Definition): Difference {
  const [old, young] = [placedSteps(before), placedSteps(after)];
  const [oldById, youngById] = [byId(old), byId(young)];
  const stayed = young.filter(({ step }) => oldById.has(step.id));
  const movedIds = movedOf(old, young);
  const named = ({ step: { id, kind } }: PlacedStep) => ({ id, kind });
  return {
    changed_fields: settings.filter((field) => !isDeepStrictEqual(before[field], after[field])),
    added: young.filter(({ step }) => !oldById.has(step.id)).map(named),
    removed: old.filter(({ step }) => !youngById.has(step.id)).map(named),
    moved: stayed.filter(({ step }) => movedIds.has(step.id)).map(named),
    changed: stayed.flatMap((one) => {
      const fields = fieldsChanged(oldById.get(one.step.id), one);
      return fields.length === 0 ? [] : [{ ...named(one), fields }];
    }),
  };
}

/** The first of several with one id: a draft may have them. */
const byId = (steps: readonly PlacedStep[]) => new Map(steps.toReversed().map((one) => [one.step.id, one]));

function fieldsChanged(before: PlacedStep | undefined, after: PlacedStep): string[] {
  const [old, young] = [before?.step, after.step].map((step): Record<string, unknown> => ({ ...step }));
  const names = [...new Set([...Object.keys(old ?? {}), ...Object.keys(young ?? {})])];
  return names.filter((name) => !ofBranches.includes(name) && !isDeepStrictEqual(old?.[name], young?.[name]));
}

/** A step moved if it has another parent or branch, or if fewer steps would have had to move around it in its list. */
function movedOf(before: readonly PlacedStep[], after: readonly PlacedStep[]): Set<string> {
  const listOf = ({ parent }: PlacedStep) => (parent ? `${parent.branch} ${parent.id}` : '');
  const oldById = byId(before);
  const moved = new Set<string>();
  for (const list of Map.groupBy(after, listOf).values()) {
    const stayed = list.filter((one) => {
      const old = oldById.get(one.step.id);
      if (!old) return false;
      if (listOf(old) === listOf(one)) return true;
      moved.add(one.step.id);
      return false;
    });
    const numbers = stayed.map(({ step }) => oldById.get(step.id)?.number ?? 0);
    const kept = longestRising(numbers);
    for (const [index, { step }] of stayed.entries()) if (!kept.has(index)) moved.add(step.id);
  }
  return moved;
}

/** @returns the places of a longest rising part of a list */
function longestRising(numbers: readonly number[]): Set<number> {
  const best: { length: number; before: number }[] = [];
  let end = -1;
  for (const [index, number] of numbers.entries()) {
    let [length, before] = [1, -1];
    for (let earlier = 0; earlier < index; earlier++) {
      const other = best[earlier];
      if (other && (numbers[earlier] ?? 0) < number && other.length >= length)
        [length, before] = [other.length + 1, earlier];
    }
    best.push({ length, before });
    if (end < 0 || length > (best[end]?.length ?? 0)) end = index;
  }
  const kept = new Set<number>();
  for (let at = end; at >= 0; at = best[at]?.before ?? -1) kept.add(at);
  return kept;
}
