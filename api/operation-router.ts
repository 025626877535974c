/** Finds the operation of a request. One router would try the pattern of each operation in turn, so routers stand by the beginning of their paths. */
import Router, { type RouterMiddleware } from '@koa/router';
import type Koa from 'koa';
import type { RequestState } from './middleware/context.ts';

export interface OperationRouter {
  /** @param path a pattern of the router: `/v1/clubs/:clubId/courses` */
  register(path: string, methods: string[], chain: RouterMiddleware<RequestState>[]): void;
  /** Calls what was registered for the request's path and method, or else what comes next. */
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

/** @returns the same for a path and for its pattern: the words that stand where no pattern has a parameter */
function groupOf(path: string): string {
  const [, version, area = '', club, resource = '', part] = path.split('/', 6);
  if (version !== 'v1') return `${version}`;
  if (area !== 'clubs') return area;
  // A slug may be the name of a resource: `/v1/clubs/by-slug/students` is no list of students.
  if (club === 'by-slug' && resource !== '' && part === undefined) return 'by-slug';
  return resource === 'classroom' ? `classroom ${part ?? ''}` : `club ${resource}`;
}
