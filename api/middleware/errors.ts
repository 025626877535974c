/** The one place where an error becomes an answer: the envelope, and nothing of ours beside code and message. */
import { acceptedLanguage } from '../../domain/language/chosen.ts';
import { RefusalToPerson } from '../../domain/language/refusal.ts';
import { DomainError } from '../../platform/core/errors.ts';
import { describeError } from '../../platform/infra/describe-error.ts';
import { isConflict } from '../../platform/infra/postgres/database.ts';
import type { Logger } from 'pino';
import type { ApiDeps, Context, Middleware } from './context.ts';

export function errorEnvelope({ log }: Pick<ApiDeps, 'log'>): Middleware {
  const enveloped: Middleware = async (context, next) => {
    try {
      await next();
    } catch (error) {
      answerWith(context, error instanceof DomainError ? error : unexpected(log, context, error));
    }
  };
  return enveloped;
}

function answerWith(context: Context, error: DomainError): void {
  const { status, code, headers } = error;
  context.status = status;
  context.body = { error: { code, message: messageOf(context, error) } };
  if (status === 401) context.set('WWW-Authenticate', 'Bearer');
  if (headers.retryAfterSeconds !== undefined) context.set('Retry-After', String(headers.retryAfterSeconds));
  if (headers.location !== undefined) context.set('Location', headers.location);
}

/** A refusal to a person is in their own language: that of the account, or of the browser where there is no account yet. */
function messageOf(context: Context, error: DomainError): string {
  if (!(error instanceof RefusalToPerson)) return error.message;
  const { caller } = context.state;
  const own = caller?.kind === 'student' ? caller.student.language : acceptedLanguage(context.get('accept-language'));
  return error.messageIn(own);
}

/** When a refused caller may come back: by then those who wait for a lock have it, or were refused (ENG-17). */
const retryAfterSeconds = 5;

/** Logged by kind and place; the caller learns the request's id, which finds the log line. */
function unexpected(log: Logger, { state: { requestId, route } }: Context, error: unknown): DomainError {
  if (isConflict(error)) {
    log.warn({ request_id: requestId, route, error: describeError(error) }, 'request waited for others in vain');
    return new DomainError('busy', 'Too many requests are under way. Please try again shortly.', { retryAfterSeconds });
  }
  log.error({ request_id: requestId, route, error: describeError(error) }, 'request failed');
  return new DomainError('internal_error', `Something went wrong on our side. Request id: ${requestId}`);
}
