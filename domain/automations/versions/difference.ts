/** Compares two definitions, whose steps are matched by their ids. */
import { isDeepStrictEqual } from 'node:util';
import { placedSteps, type Definition, type PlacedStep } from './definition.policy.ts';

export interface StepDifference {
  id: string;
  kind: string;
}

export interface Difference {
  /** The changed fields outside the steps: `trigger`, `reentry`, `exit_on_access_lost`, `exit_when`. */
  changed_fields: string[];
  added: StepDifference[];
  removed: StepDifference[];
  /** The steps that have moved to a different branch or behind a different step. */
  moved: StepDifference[];
  /** The steps with changed fields. A step around a branch is not listed if only steps inside the branch have changed. */
  changed: (StepDifference & { fields: string[] })[];
}

const settings = ['trigger', 'reentry', 'exit_on_access_lost', 'exit_when'] as const;
const ofBranches = ['id', 'then', 'else'];

/**
 * @returns the changes that turn `before` into `after`. Removed steps are in the order of `before`, and all other steps in the order of
 * `after`
 */
export function differenceOf(before: Definition, after: Definition): Difference {
  const [old, young] = [placedSteps(before), placedSteps(after)];
  const [oldById, youngById] = [byId(old), byId(young)];
  const common = young.filter(({ step }) => oldById.has(step.id));
  const movedIds = movedOf(old, young);
  const summaryOf = ({ step: { id, kind } }: PlacedStep) => ({ id, kind });
  return {
    changed_fields: settings.filter((field) => !isDeepStrictEqual(before[field], after[field])),
    added: young.filter(({ step }) => !oldById.has(step.id)).map(summaryOf),
    removed: old.filter(({ step }) => !youngById.has(step.id)).map(summaryOf),
    moved: common.filter(({ step }) => movedIds.has(step.id)).map(summaryOf),
    changed: common.flatMap((one) => {
      const fields = fieldsChanged(oldById.get(one.step.id), one);
      return fields.length === 0 ? [] : [{ ...summaryOf(one), fields }];
    }),
  };
}

/** In a draft, several steps may have one id. The map then has the first of them. */
const byId = (steps: readonly PlacedStep[]) => new Map(steps.toReversed().map((one) => [one.step.id, one]));

function fieldsChanged(before: PlacedStep | undefined, after: PlacedStep): string[] {
  const [old, young] = [before?.step, after.step].map((step): Record<string, unknown> => ({ ...step }));
  const names = [...new Set([...Object.keys(old ?? {}), ...Object.keys(young ?? {})])];
  return names.filter((name) => !ofBranches.includes(name) && !isDeepStrictEqual(old?.[name], young?.[name]));
}

/**
 * A step has moved if it is now in another branch. Within a list, the steps of the longest sequence in unchanged order count as not moved.
 */
function movedOf(before: readonly PlacedStep[], after: readonly PlacedStep[]): Set<string> {
  const listOf = ({ parent }: PlacedStep) => (parent ? `${parent.branch} ${parent.id}` : '');
  const oldById = byId(before);
  const moved = new Set<string>();
  for (const list of Map.groupBy(after, listOf).values()) {
    const common = list.filter((one) => {
      const old = oldById.get(one.step.id);
      if (!old) return false;
      if (listOf(old) === listOf(one)) return true;
      moved.add(one.step.id);
      return false;
    });
    const numbers = common.map(({ step }) => oldById.get(step.id)?.number ?? 0);
    const inOrder = longestRising(numbers);
    for (const [index, { step }] of common.entries()) if (!inOrder.has(index)) moved.add(step.id);
  }
  return moved;
}

/** @returns the indexes of a longest increasing subsequence */
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
  const indexes = new Set<number>();
  for (let at = end; at >= 0; at = best[at]?.before ?? -1) indexes.add(at);
  return indexes;
}
