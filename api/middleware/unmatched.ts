/**
 * Answers requests that no operation handles: 405 for a known path, 404 for an unknown path. Writing requests are charged to the rate
 * limit, too.
 */
import type { ContractOperation, Method } from '../../contract/contract.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Middleware } from './context.ts';

/** A path of the contract with its methods. */
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

/** Whether a path matches a known path, with any text in place of a parameter. */
function fits({ parts }: KnownPath, path: string): boolean {
  const segments = path.split('/');
  return (
    segments.length === parts.length &&
    parts.every((part, at) => (part.startsWith('{') ? segments[at] !== '' : segments[at] === part))
  );
}

/**
 * Compares two paths at the first segment that is a literal in one path and a parameter in the other path. The path with the literal comes
 * first: `by-slug/{slug}` comes before `{clubId}/students`.
 */
function isBefore(one: KnownPath, other: KnownPath): boolean {
  const at = one.parts.findIndex((part, index) => part.startsWith('{') !== other.parts[index]?.startsWith('{'));
  return at >= 0 && !one.parts[at]?.startsWith('{');
}

/**
 * Whether every request to the special path also matches the general path. Example: `…/media/storage` is special, and `…/media/{mediaId}`
 * is general.
 */
const covers = (general: KnownPath, special: KnownPath) =>
  general.path !== special.path && fits(general, special.path) && !fits(special, general.path);

/**
 * Finds, for each special path, the methods that only its general path has. The router uses them, because a handler of the general path
 * would otherwise answer a request to the special path. @returns the special paths, each with the methods of its general paths that it
 * lacks
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

/** @param operations the operations of the contract, which define the methods of each path */
export function answerUnmatched(operations: readonly ContractOperation[]): Middleware {
  const known = pathsOf(operations);
  return async (context) => {
    const fitting = known.filter((one) => fits(one, context.path));
    // If two paths match, they differ only in segments that are literals in one path and parameters in the other path.
    const special = fitting.find((path) => !fitting.some((other) => isBefore(other, path)));
    if (special) {
      context.set('Allow', [...special.methods].map((method) => method.toUpperCase()).join(', '));
      throw new DomainError('method_not_allowed', `This path has no ${context.method}.`);
    }
    throw new DomainError('not_found', 'There is no such path.');
  };
}
