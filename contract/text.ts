/** What no text of a request may hold, wherever it stands: a NUL byte, half of a surrogate pair. Neither can be stored. */
import { jsonBounds } from '../platform/core/json.ts';
import { isStorableText } from '../platform/core/storable-text.ts';
import { isObject, type JsonObject } from './openapi.ts';

/** Objects and arrays within each other; beyond, the request is not read. */
export const deepestNesting = jsonBounds.depth;

/** An object or an array where a walk stands; the way back to the root names the field. */
interface Place {
  readonly container: JsonObject;
  readonly step: string;
  readonly parent: Place | undefined;
  readonly depth: number;
}

export type TextFault = { readonly fault: 'unstorable' | 'too-deep'; readonly path: string };

/**
 * The first fault in a parsed JSON value, in strings and in the names of properties. It does not recurse: a body can be nested
 * deeper than the stack is.
 */
export function findTextFault(root: unknown): TextFault | undefined {
  if (!isObject(root)) return isStorable(root) ? undefined : { fault: 'unstorable', path: '' };
  let unstorable: TextFault | undefined;
  const places: Place[] = [{ container: root, step: '', parent: undefined, depth: 1 }];
  for (let place = places.pop(); place; place = places.pop()) {
    if (place.depth > deepestNesting) return { fault: 'too-deep', path: pathTo(place) };
    const { container, depth } = place;
    for (const step in container) {
      const value = container[step];
      if (!isStorable(step) || !isStorable(value)) unstorable ??= { fault: 'unstorable', path: pathTo(place, step) };
      if (isObject(value)) places.push({ container: value, step, parent: place, depth: depth + 1 });
    }
  }
  return unstorable;
}

/** A name out of the request as a message may repeat it: short, and printable everywhere. */
export function printableName(name: string): string {
  return name.slice(0, 64).replaceAll(/[^\x20-\x7e]/g, '?');
}

function isStorable(value: unknown): boolean {
  return typeof value !== 'string' || isStorableText(value);
}

function pathTo(place: Place, ...last: readonly string[]): string {
  const steps = [...last];
  for (let at: Place | undefined = place; at?.parent; at = at.parent) steps.unshift(at.step);
  return steps.map(printableName).join('/');
}
