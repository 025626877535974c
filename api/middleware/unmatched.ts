/** What no operation answers: 405 for a known path, 404 for an unknown one; writes are charged all the same. */
import type { ContractOperation } from '../../contract/contract.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Middleware } from './context.ts';

/** @param operations of the contract; their paths tell which methods a path has */
export function answerUnmatched(operations: readonly ContractOperation[]): Middleware {
  const methodsByPath = new Map<string, { pattern: RegExp; methods: Set<string> }>();
  for (const { path, method } of operations) {
    const pattern = new RegExp(`^${path.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    const known = methodsByPath.get(path) ?? { pattern, methods: new Set<string>() };
    known.methods.add(method.toUpperCase());
    methodsByPath.set(path, known);
  }
  const known = [...methodsByPath.values()];

  return async (context) => {
    const methods = known.filter(({ pattern }) => pattern.test(context.path)).flatMap((path) => [...path.methods]);
    if (methods.length > 0) {
      context.set('Allow', [...new Set(methods)].join(', '));
      throw new DomainError('method_not_allowed', `This path has no ${context.method}.`);
    }
    throw new DomainError('not_found', 'There is no such path.');
  };
}
