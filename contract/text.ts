/** Finds characters that no text of a request may contain, because Postgres cannot store them: a NUL byte and a lone surrogate. */
import { jsonBounds } from '../platform/core/json.ts';
import { isStorableText } from '../platform/core/text/storable-text.ts';
import { isObject, type JsonObject } from './openapi.ts';

/** The maximum nesting of objects and arrays. Deeper requests are refused. */
export const deepestNesting = jsonBounds.depth;

/** An object or array that the walk has reached. Its parents lead back to the root, so that a message can name the field. */
interface Place {
  readonly container: JsonObject;
  readonly step: string;
  readonly parent: Place | undefined;
  readonly depth: number;
}

export type TextFault = { readonly fault: 'unstorable' | 'too-deep'; readonly path: string };

/**
 * The first fault in a parsed JSON value, in strings and in the names of properties. It does not recurse, because a body can be nested more
 * deeply than the stack.
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

/** The name of a field in a form that a message may repeat: short and printable. */
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
