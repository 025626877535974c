/**
 * Finds the operation of a request. Each group of paths has its own router, because one router would try the patterns of all operations.
 */
import Router, { type RouterMiddleware } from '@koa/router';
import type Koa from 'koa';
import type { RequestState } from './middleware/context.ts';

export interface OperationRouter {
  /** @param path such as `/v1/clubs/:clubId/courses` */
  register(path: string, methods: string[], chain: RouterMiddleware<RequestState>[]): void;
  /** If no handler matches, calls the next middleware. */
  routes: Koa.Middleware<RequestState>;
}

export function createOperationRouter(): OperationRouter {
  const groups = new Map<string, Router<RequestState>>();
  const handlers = new Map<string, Koa.Middleware<RequestState>>();
  return {
    register(path, methods, chain) {
      const name = groupOf(path);
      const group = groups.get(name) ?? new Router<RequestState>({ strict: true, sensitive: true });
      group.register(path, methods, chain);
      groups.set(name, group);
      handlers.set(name, group.routes() as never);
    },
    routes: (context, next) => handlers.get(groupOf(context.path))?.(context, next) ?? next(),
  };
}

/** @returns the group of a path or a pattern. It uses only segments that are literals in every pattern, so both get one group */
function groupOf(path: string): string {
  const [, version, area = '', club, resource = '', part] = path.split('/', 6);
  if (version !== 'v1') return `${version}`;
  if (area !== 'clubs') return area;
  // A club's slug can be a word such as `students`: `/v1/clubs/by-slug/students` names a club.
  if (club === 'by-slug' && resource !== '' && part === undefined) return 'by-slug';
  return resource === 'classroom' ? `classroom ${part ?? ''}` : `club ${resource}`;
}
