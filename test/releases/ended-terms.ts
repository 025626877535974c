/**
 * Finds the terms of older contracts that have ended as announced (VER-5). A recorded release must have announced the end for
 * six months. Each sunset that a release has announced must be past.
 */
import { earliestSunset } from '../../contract/rules/deprecation.ts';
import { brokenTerms } from './contract-terms.ts';
import { isPart, resolve } from './document-parts.ts';

export interface RecordedContract {
  readonly contract: object;
  /** The time of the recording, in ISO 8601. Callers could read the contract since then. */
  readonly recordedAt: string;
}

type Decision = (sunset: string) => boolean;

/**
 * @param releases the contracts of the recorded releases
 * @param later the contract of today
 * @param today a day such as 2027-01-31
 * @returns the lines of `brokenTerms` that are no breaks, because the term has ended as announced
 */
export function endedTerms(releases: readonly RecordedContract[], later: object, today: string): ReadonlySet<string> {
  const ended = new Set<string>();
  const promised = new Set<string>();
  for (const { contract, recordedAt } of releases) {
    const isNoticed = earliestSunset(recordedAt.slice(0, 10)) <= today;
    if (isNoticed) for (const line of endsOf(contract, later, (sunset) => sunset <= today)) ended.add(line);
    for (const line of endsOf(contract, later, (sunset) => sunset > today)) promised.add(line);
  }
  return new Set([...ended].filter((line) => !promised.has(line)));
}

/** @returns the broken terms that come from the removal of deprecated parts whose sunset fulfils the decision */
function endsOf(earlier: object, later: object, isMeant: Decision): string[] {
  const others = new Set(brokenTerms(withoutDeprecated(earlier, isMeant), later));
  return brokenTerms(earlier, later).filter((line) => !others.has(line));
}

/** @returns a copy of the document without the deprecated operations, parameters and fields whose sunset fulfils the decision */
function withoutDeprecated(document: object, isMeant: Decision): object {
  const isDropped = (part: unknown): boolean => {
    if (!isPart(part)) return false;
    const target = resolve(document, part);
    const notice = (target['in'] === undefined ? part : target)['x-deprecation'];
    return isPart(notice) && isMeant(String(notice['sunset']));
  };
  const copyOf = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.filter((one) => !isDropped(one)).map(copyOf);
    if (!isPart(part)) return part;
    const { properties, required } = part;
    const dropped = isPart(properties) ? Object.keys(properties).filter((name) => isDropped(properties[name])) : [];
    const others = Object.entries(part).filter(([key, inner]) => key.startsWith('x-') || !isDropped(inner));
    const copy = Object.fromEntries(others.map(([key, inner]) => [key, copyOf(inner)]));
    if (Array.isArray(required)) copy['required'] = required.filter((name) => !dropped.includes(String(name)));
    return copy;
  };
  // Shared parameters stay at their place, because other parts may refer to them.
  const { components } = document as { components?: object };
  const { parameters } = (components ?? {}) as { parameters?: object };
  const copy = copyOf(document) as { components?: object };
  return { ...copy, ...(components && { components: { ...copy.components, ...(parameters && { parameters }) } }) };
}
