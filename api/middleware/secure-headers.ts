/** Sets the security headers of every answer. */
import { embeddable, secureHeadersOf } from '../secure-headers.policy.ts';
import type { Middleware } from './context.ts';

/** @param publicUrl of the listener */
export function secureHeaders(publicUrl: string): Middleware {
  const headers = secureHeadersOf(publicUrl);
  return async (context, next) => {
    context.set(headers);
    return next();
  };
}

/** Other sites may include the answer in their pages. */
export const embeddedByOthers: Middleware = async (context, next) => {
  context.set(embeddable);
  return next();
};
