/** Headers of every answer. */
import type { Middleware } from './context.ts';

export const secureHeaders: Middleware = async (context, next) => {
  context.set({
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-store', // every answer is somebody's own; pages that may be kept say so themselves
  });
  return next();
};
