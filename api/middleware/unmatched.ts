/** Answers requests without an operation: 405 for a known path, 404 otherwise. Writes are charged to the rate limit, too. */
import type { ContractOperation, Method } from '../../contract/contract.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Middleware } from './context.ts';

interface KnownPath {
  readonly path: string;
  readonly koaPath: string;
  readonly parts: readonly string[];
  readonly methods: Set<Method>;
}

function pathsOf(operations: readonly ContractOperation[]): KnownPath[] {
  const byPath = new Map<string, KnownPath>();
  for (const { path, koaPath, method } of operations) {
    const known = byPath.get(path) ?? { path, koaPath, parts: path.split('/'), methods: new Set<Method>() };
    known.methods.add(method);
    byPath.set(path, known);
  }
  return [...byPath.values()];
}

/** Any text fits a parameter. */
function fits({ parts }: KnownPath, path: string): boolean {
  const segments = path.split('/');
  return (
    segments.length === parts.length &&
    parts.every((part, at) => (part.startsWith('{') ? segments[at] !== '' : segments[at] === part))
  );
}

/** At the first difference, the path with the literal comes first: `by-slug/{slug}` before `{clubId}/students`. */
function isBefore(one: KnownPath, other: KnownPath): boolean {
  const at = one.parts.findIndex((part, index) => part.startsWith('{') !== other.parts[index]?.startsWith('{'));
  return at >= 0 && !one.parts[at]?.startsWith('{');
}

/** Every request to the special path also matches the general one: `…/media/storage` and `…/media/{mediaId}`. */
const covers = (general: KnownPath, special: KnownPath) =>
  general.path !== special.path && fits(general, special.path) && !fits(special, general.path);

/**
 * The methods that only the general path has. Otherwise its handler would answer a request to the special path. @returns the special paths,
 * each with the methods that it lacks
 */
export function methodsOfOthers(operations: readonly ContractOperation[]): { koaPath: string; methods: Method[] }[] {
  const known = pathsOf(operations);
  return known
    .map((special) => ({
      koaPath: special.koaPath,
      methods: known
        .filter((general) => covers(general, special))
        .flatMap(({ methods }) => [...methods])
        .filter((method) => !special.methods.has(method)),
    }))
    .filter(({ methods }) => methods.length > 0);
}

/** @param operations define the methods of each path */
export function answerUnmatched(operations: readonly ContractOperation[]): Middleware {
  const known = pathsOf(operations);
  return async (context) => {
    const fitting = known.filter((one) => fits(one, context.path));
    // Two matching paths differ only in literals and parameters.
    const special = fitting.find((path) => !fitting.some((other) => isBefore(other, path)));
    if (special) {
      context.set('Allow', [...special.methods].map((method) => method.toUpperCase()).join(', '));
      throw new DomainError('method_not_allowed', `This path has no ${context.method}.`);
    }
    throw new DomainError('not_found', 'There is no such path.');
  };
}
