/**
 * `X-HTTP-Method-Override`: a client or proxy that cannot send PATCH, HEAD or DELETE sends POST instead (MED-32). Only for resumable
 * uploads.
 */
import { uploadsPath } from '../../domain/media/uploads/descriptor.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Context, Middleware } from '../middleware/context.ts';
import { partUnder } from './paths.ts';

const header = 'x-http-method-override';
const overriding: ReadonlySet<string> = new Set(['PATCH', 'HEAD', 'DELETE']);

const requestedMethod = (context: Context) => context.get(header).toUpperCase();

/** @returns a middleware that replaces the method for all later code, even for the request log */
export function methodOverride(): Middleware {
  return async (context, next) => {
    const method = requestedMethod(context);
    const isOverridden = context.method === 'POST' && overriding.has(method) && partUnder(uploadsPath, context.path);
    if (isOverridden) context.method = method;
    await next();
    if (!isOverridden || method !== 'HEAD' || context.respond === false) return;
    // An answer to HEAD has no body. Node received a POST, so it would announce a body that Koa does not send.
    context.body = '';
    context.remove('Content-Type');
  };
}

/**
 * Refuses a header that was not applied. Otherwise the request would be handled with the wrong method. @throws DomainError
 * method_not_allowed
 */
export function requireOwnMethod(context: Context): void {
  const method = requestedMethod(context);
  if (method !== '' && method !== context.method)
    throw new DomainError(
      'method_not_allowed',
      'X-HTTP-Method-Override is accepted only on a POST to an upload, for PATCH, HEAD and DELETE.',
    );
}
