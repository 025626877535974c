/** The only code that turns an error into an answer, without internal details. */
import { RefusalToPerson, type PlainRefusalKey } from '../../domain/language/refusal.ts';
import { defaultLanguage, languageOf } from '../../domain/language/languages.ts';
import { wordingIn } from '../../domain/language/wording.ts';
import type { ErrorCode } from '../../platform/core/error-codes.ts';
import { DomainError } from '../../platform/core/errors.ts';
import { describeError } from '../../platform/infra/describe-error.ts';
import { isConflict } from '../../platform/infra/postgres/database.ts';
import type { Logger } from 'pino';
import type { ApiDeps, Context, Middleware } from './context.ts';
import { languagesOfReader } from './reader.ts';

export function errorEnvelope(api: Pick<ApiDeps, 'log' | 'deps'>): Middleware {
  const enveloped: Middleware = async (context, next) => {
    try {
      await next();
    } catch (error) {
      const refusal = refusalFor(api.log, context, error);
      answerWith(context, refusal, await messageOf(api, context, refusal));
    }
  };
  return enveloped;
}

/** Logs an unexpected error. @returns the error that the caller may see */
export function refusalFor(log: Logger, context: Context, error: unknown): DomainError {
  return error instanceof DomainError ? error : unexpected(log, context, error);
}

function answerWith(context: Context, { status, code, headers, members }: DomainError, message: string): void {
  context.status = status;
  context.body = { error: { code, message, ...members } };
  if (status === 401) context.set('WWW-Authenticate', 'Bearer');
  if (headers.retryAfterSeconds !== undefined) context.set('Retry-After', String(headers.retryAfterSeconds));
  if (headers.location !== undefined) context.set('Location', headers.location);
}

/** The words for errors that have no translation of their own. An English reader gets the error's own message, which is more precise. */
const wordsOfCode: Readonly<Partial<Record<ErrorCode, PlainRefusalKey>>> = {
  unauthenticated: 'refusal.unauthenticated',
  not_found: 'refusal.not_found',
  busy: 'refusal.busy',
};

/** A student reads a refusal in their own language, every other caller in English (DEC-188). */
async function messageOf(api: Pick<ApiDeps, 'deps'>, context: Context, error: DomainError): Promise<string> {
  const key = wordsOfCode[error.code];
  if (!(error instanceof RefusalToPerson) && key === undefined) return error.message;
  const languages = await languagesOfReader(api, context, error.code);
  if (languages === undefined) return error.message;
  if (error instanceof RefusalToPerson) return error.messageIn(...languages);
  const language = languageOf(...languages);
  return key === undefined || language === defaultLanguage ? error.message : wordingIn(language).say(key);
}

/** Requests wait less time for a lock (ENG-17). */
const retryAfterSeconds = 5;

/** Logs kind and source location. The caller gets the id of the request, by which an operator finds the line. */
function unexpected(log: Logger, { state: { requestId, route } }: Context, error: unknown): DomainError {
  if (isConflict(error)) {
    log.warn({ request_id: requestId, route, error: describeError(error) }, 'request waited for others in vain');
    return new RefusalToPerson('busy', 'refusal.busy', { retryAfterSeconds });
  }
  log.error({ request_id: requestId, route, error: describeError(error) }, 'request failed');
  return new RefusalToPerson('internal_error', ({ say }) => say('refusal.internal_error', { id: requestId }));
}
