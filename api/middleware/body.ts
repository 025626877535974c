/** Reads a JSON body with a maximum size, strict UTF-8 and valid JSON. Each mistake has its own error (ERR-3). */
import { koaBody } from 'koa-body';
import type { ContractOperation } from '../../contract/contract.ts';
import { DomainError } from '../../platform/core/errors.ts';
import { readJson } from '../../platform/core/json.ts';
import type { ApiDeps, Context, Middleware } from './context.ts';

/** In milliseconds. After this time the connection is closed. */
const arrivalMs = 30_000;

/**
 * @returns a middleware that sets `context.request.body`, undefined without a body. For a handler that reads the body itself, it only sets
 * `context.state.readBody`
 */
export function readJsonBody({ settings }: ApiDeps, { maxJsonBytes, readsBodyLate }: ContractOperation): Middleware {
  const readBytes = bytesReader(Math.min(settings.bodyLimitBytes, maxJsonBytes ?? Infinity));
  return async (context, next) => {
    if (readsBodyLate) {
      context.state.readBody = () => readBytes(context);
    } else {
      const bytes = await readBytes(context);
      if (bytes) context.state.bodyBytes = bytes;
      (context.request as unknown as { body: unknown }).body = bytes && readJson(bytes);
    }
    return next();
  };
}

/** @returns undefined for an absent or empty body */
function bytesReader(limitBytes: number): (context: Context) => Promise<Buffer | undefined> {
  // Latin-1 has one character for each byte. A UTF-8 parser would silently replace invalid bytes.
  const read = koaBody({
    json: false,
    urlencoded: false,
    multipart: false,
    text: true,
    textTypes: ['application/json', 'application/*+json'],
    encoding: 'latin1',
    textLimit: limitBytes,
    onError: (error) => {
      throw bodyError(error, limitBytes);
    },
  }) as unknown as Middleware;

  return async (context) => {
    const hasBody =
      context.request.length !== 0 && (context.request.length !== undefined || context.get('transfer-encoding') !== '');
    if (!hasBody) return undefined;
    if (context.is('application/json', 'application/*+json') === false) {
      throw new DomainError('unsupported_media_type', 'The body must be JSON: Content-Type: application/json.');
    }
    const cutOff = setTimeout(() => context.req.destroy(), arrivalMs);
    try {
      await read(context, async () => undefined);
    } finally {
      clearTimeout(cutOff);
    }
    const bytes = Buffer.from(String((context.request as unknown as { body: unknown }).body), 'latin1');
    return bytes.length === 0 ? undefined : bytes;
  };
}

function bodyError(error: Error & { status?: number; type?: string }, limit: number): Error {
  if (error.type === 'entity.too.large')
    return new DomainError('body_too_large', `The body may have at most ${limit} bytes.`);
  if (error.type === 'request.aborted' || error.type === 'request.size.invalid') {
    return new DomainError('malformed_request', 'The body did not arrive completely.');
  }
  if (error.status === 415) return new DomainError('unsupported_media_type', 'This Content-Encoding is not supported.');
  return new DomainError('malformed_request', 'The body cannot be read.');
}
