/** The only error type for callers. An error has a `code` of the contract, the status of that code, and a message for people. */
import { errorStatus, type ErrorCode } from './error-codes.ts';

/** Details of an error besides its code and message. */
export interface ErrorHeaders {
  /** The whole seconds for the header `Retry-After`. */
  readonly retryAfterSeconds?: number;
  /** Path of the resource that the request conflicts with, for `Location`. */
  readonly location?: string;
}

/**
 * A request of the caller cannot be fulfilled. The domain throws it anywhere; the error mapper of the API turns it into the envelope
 * (ERR-1). The message may name fields of the request, never another person's data.
 */
export class DomainError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly headers: ErrorHeaders;

  constructor(code: ErrorCode, message: string, headers: ErrorHeaders = {}) {
    super(message);
    this.name = 'DomainError';
    this.code = code;
    this.status = errorStatus[code];
    this.headers = headers;
  }
}

/** @returns a 404 for a resource that does not exist in the caller's club; ids of other clubs get an equal answer */
export function notFound(what: string): DomainError {
  return new DomainError('not_found', `There is no such ${what} in this club.`);
}
