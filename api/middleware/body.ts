/** Reads a JSON body as bytes: bounded, strict UTF-8, valid JSON. Each failure has a clear error (ERR-3). */
import { koaBody } from 'koa-body';
import { DomainError } from '../../platform/core/errors.ts';
import type { ApiDeps, Middleware } from './context.ts';

/** How long a JSON body may take to arrive; its sender is then cut off. */
const arrivalMs = 30_000;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @returns a middleware that leaves the parsed value in `context.request.body`, and its bytes in the state; undefined where no body was sent */
export function readJsonBody({ settings }: ApiDeps): Middleware {
  // Read as latin-1 text, one character a byte: a parser that decodes UTF-8 itself would mend broken bytes silently.
  const readBytes = koaBody({
    json: false,
    urlencoded: false,
    multipart: false,
    text: true,
    textTypes: ['application/json', 'application/*+json'],
    encoding: 'latin1',
    textLimit: settings.bodyLimitBytes,
    onError: (error) => {
      throw bodyError(error, settings.bodyLimitBytes);
    },
  }) as unknown as Middleware;

  return async (context, next) => {
    const sent =
      context.request.length !== 0 && (context.request.length !== undefined || context.get('transfer-encoding') !== '');
    if (!sent) return next();
    if (context.is('application/json', 'application/*+json') === false) {
      throw new DomainError('unsupported_media_type', 'The body must be JSON: Content-Type: application/json.');
    }
    const cutOff = setTimeout(() => context.req.destroy(), arrivalMs);
    return readBytes(context, async () => {
      clearTimeout(cutOff);
      const request = context.request as unknown as { body: unknown };
      context.state.rawBody = Buffer.from(String(request.body), 'latin1');
      request.body = context.state.rawBody.length === 0 ? undefined : parse(context.state.rawBody);
      return next();
    }).finally(() => clearTimeout(cutOff));
  };
}

function parse(bytes: Buffer): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new DomainError('malformed_request', 'The body is not valid UTF-8.');
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new DomainError('malformed_request', 'The body is not valid JSON.');
  }
}

function bodyError(error: Error & { status?: number; type?: string }, limit: number): Error {
  if (error.type === 'entity.too.large')
    return new DomainError('body_too_large', `The body may have at most ${limit} bytes.`);
  if (error.type === 'request.aborted' || error.type === 'request.size.invalid') {
    return new DomainError('malformed_request', 'The body did not arrive whole.');
  }
  if (error.status === 415) return new DomainError('unsupported_media_type', 'This Content-Encoding is not supported.');
  return new DomainError('malformed_request', 'The body cannot be read.');
}
