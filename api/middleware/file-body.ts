/** Opens a body that is a file. The handler reads it as it arrives, up to the contract's limit. */
import type { ContractOperation, FileBody } from '../../contract/contract.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Context, Middleware } from './context.ts';

/**
 * @returns a middleware that checks the headers and puts the body into the state. For a handler that reads late, the headers are checked
 * then
 */
export function openFileBody({ type, maxBytes }: FileBody, { readsBodyLate }: ContractOperation): Middleware {
  return async (context, next) => {
    const requireFit = () => {
      const announced = context.request.length;
      const isSent = announced !== 0 && (announced !== undefined || context.get('transfer-encoding') !== '');
      if (!isSent) throw new DomainError('malformed_request', 'The request has a problem: the body is missing.');
      requireContentType(context, type);
      if (announced !== undefined && announced > maxBytes) throw tooLarge(maxBytes);
    };
    if (!readsBodyLate) requireFit();
    context.state.bodyStream = bounded(context, maxBytes, requireFit);
    return next();
  };
}

function requireContentType(context: Context, type: string): void {
  const charset = context.request.charset.toLowerCase();
  const encoding = context.get('content-encoding').toLowerCase();
  if (context.is(type) === false || !['', 'utf-8', 'utf8'].includes(charset)) {
    throw new DomainError('unsupported_media_type', `The body must be ${type} in UTF-8: Content-Type: ${type}.`);
  }
  if (!['', 'identity'].includes(encoding)) {
    throw new DomainError('unsupported_media_type', 'The body must not have a Content-Encoding.');
  }
}

async function* bounded(context: Context, maxBytes: number, requireFit: () => void): AsyncGenerator<Buffer> {
  let length = 0;
  requireFit();
  try {
    for await (const chunk of context.req.iterator({ destroyOnReturn: false })) {
      length += chunk.length;
      if (length > maxBytes) throw tooLarge(maxBytes);
      yield chunk;
    }
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw new DomainError('malformed_request', 'The body did not arrive completely.');
  } finally {
    // If the body is refused early, the rest must still be read: the next request of this connection waits behind it.
    context.req.resume();
  }
}

function tooLarge(maxBytes: number): DomainError {
  return new DomainError('body_too_large', `The body may have at most ${maxBytes} bytes.`);
}
