/** The one place where an error becomes an answer: the envelope, and nothing of ours beside code and message. */
import { DomainError } from '../../domain/core/errors.ts';
import { describeError } from '../../domain/core/describe-error.ts';
import type { Context, Middleware } from './context.ts';

export function errorEnvelope(): Middleware {
  return async (context, next) => {
    try {
      await next();
    } catch (error) {
      answerWith(context, error instanceof DomainError ? error : unexpected(context, error));
    }
  };
}

function answerWith(context: Context, { status, code, message, retryAfterSeconds }: DomainError): void {
  context.status = status;
  context.body = { error: { code, message } };
  if (status === 401) context.set('WWW-Authenticate', 'Bearer');
  if (retryAfterSeconds !== undefined) context.set('Retry-After', String(retryAfterSeconds));
}

/** Logged by kind and place; the caller learns the request's id, which finds the log line. */
function unexpected(context: Context, error: unknown): DomainError {
  context.state.log.error({ error: describeError(error), route: context.state.route }, 'request failed');
  return new DomainError('internal_error', `Something went wrong on our side. Request id: ${context.state.requestId}`);
}
