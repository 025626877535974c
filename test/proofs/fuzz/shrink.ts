/**
 * Shrinks a sequence that failed, first to fewer steps, and then to a simpler last request. Each smaller sequence must fail in the same
 * way.
 */
import { operationOf } from '../../toolkit/drive/every-operation.ts';
import type { Failure } from './fuzzing.ts';
import { replay } from './replay.ts';
import { faultsOf } from './requests/contract-check.ts';
import {
  isRecord,
  isRequest,
  templatesOf,
  type Json,
  type JsonRecord,
  type RequestStep,
  type Step,
} from './requests/step.ts';
import type { FuzzGround } from './world/ground.ts';

/** Each replay builds new clubs, which takes about a second. */
const maxReplays = 60;

/** @returns the shortest sequence that still fails; undefined if the whole sequence does not fail again */
export async function shrink(ground: FuzzGround, failure: Failure): Promise<readonly Step[] | undefined> {
  let remainingReplays = maxReplays;
  const fails = async (steps: readonly Step[]): Promise<boolean> => {
    if (remainingReplays-- <= 0) return false;
    const { failures } = await replay(ground, steps);
    return failures.some((each) => each.startsWith(failure.kind));
  };
  const needed = stepsNeeded(failure.steps);
  if (await fails(needed)) return simpler(needed, fails);
  if (!(await fails(failure.steps))) return undefined;
  return simpler(await fewer(failure.steps, fails), fails);
}

type Fails = (steps: readonly Step[]) => Promise<boolean>;

/** The last step also needs the steps that its templates name, directly or indirectly. */
export function stepsNeeded(steps: readonly Step[]): readonly Step[] {
  const requests = steps.filter(isRequest);
  const byName = new Map(requests.flatMap((step) => [step, step.beside ?? step].map(({ name }) => [name, step])));
  const needed = new Set<Step>();
  const need = (step: Step): void => {
    if (needed.has(step)) return;
    needed.add(step);
    if (!isRequest(step)) return;
    for (const template of templatesOf(step)) {
      const [name = ''] = template.replace(/^upper:/, '').split('/');
      const named = byName.get(name);
      if (named) need(named);
    }
  };
  const last = steps.at(-1);
  if (last) need(last);
  return steps.filter((step) => needed.has(step));
}

/** Removes ever smaller parts of the steps before the last step (delta debugging). */
async function fewer(steps: readonly Step[], fails: Fails): Promise<readonly Step[]> {
  let remainingSteps = steps.slice(0, -1);
  const last = steps.slice(-1);
  for (let size = Math.ceil(remainingSteps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < remainingSteps.length;) {
      const without = [...remainingSteps.slice(0, from), ...remainingSteps.slice(from + size)];
      if (await fails([...without, ...last])) remainingSteps = without;
      else from += size;
    }
  }
  return [...remainingSteps, ...last];
}

async function simpler(steps: readonly Step[], fails: Fails): Promise<readonly Step[]> {
  const before = steps.slice(0, -1);
  let last = steps.at(-1);
  for (let changed = true; changed && last !== undefined && isRequest(last);) {
    changed = false;
    for (const version of simplerVersions(last)) {
      if (!(await fails([...before, version]))) continue;
      [last, changed] = [version, true];
      break;
    }
  }
  return last === undefined ? steps : [...before, last];
}

/** Returns smaller versions of a request. They are valid if the request is valid. If the request has a fault, they have a fault too. */
function simplerVersions(step: RequestStep): RequestStep[] {
  const { query, headers: _, body, ...rest } = step;
  const { beside: __, ...alone } = step;
  const withBody = (value: Json | undefined) => (value === undefined ? {} : { body: value });
  const versions: RequestStep[] = [
    ...(step.beside ? [alone] : []),
    ...(step.headers && step.raw === undefined ? [{ ...rest, ...(query && { query }), ...withBody(body) }] : []),
    ...(query ?? []).map((_pair, at) => ({ ...step, query: (query ?? []).filter((_each, other) => other !== at) })),
    ...(body === undefined ? [] : simplerValues(body).map((value) => ({ ...step, body: value }))),
  ];
  const operation = operationOf(step.operation);
  // The function does not simplify a template, because its value is valid. A text that contains a template can break only the rule for its
  // format.
  const faults = faultsOf(operation, step).length;
  return versions.filter((version) => faultsOf(operation, version).length === faults);
}

function simplerValues(value: Json): Json[] {
  if (Array.isArray(value)) {
    const items = value as readonly Json[];
    return [...items.map((_, at) => items.filter((_item, other) => other !== at)), ...itemsSimplified(items)];
  }
  if (isRecord(value)) return recordsSimplified(value);
  if (typeof value !== 'string' || value.length <= 1 || value.includes('{{')) return [];
  return [value.slice(0, 1), value.slice(0, Math.ceil(value.length / 2)), value.slice(Math.floor(value.length / 2))];
}

const itemsSimplified = (items: readonly Json[]): Json[] =>
  items.flatMap((item, at) => simplerValues(item).map((simple) => items.with(at, simple) as Json));

function recordsSimplified(record: JsonRecord): Json[] {
  return Object.entries(record).flatMap(([name, part]) => {
    const { [name]: _, ...rest } = record;
    return [rest, ...simplerValues(part).map((simple) => ({ ...record, [name]: simple }))];
  });
}
