/**
 * The only type of error that callers of the API get. An error has a `code` of the contract, the status of that code, and a message for
 * people.
 */
import { errorStatus, type ErrorCode } from './error-codes.ts';

/** Further details of an error, in addition to its code and its message. */
export interface ErrorHeaders {
  /** The value of the header `Retry-After`, in whole seconds. */
  readonly retryAfterSeconds?: number;
  /** The path of the resource with which the request conflicts. The header `Location` contains it. */
  readonly location?: string;
}

/**
 * The error that a caller gets if a request cannot be fulfilled. Any code of the domain may throw this error. The error mapper of the API
 * turns it into the body of the answer (ERR-1). The message may name fields of the request, never another person's data.
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

/** @returns a 404 for a resource that does not exist in the caller's club; an id of another club gets the same answer */
export function notFound(what: string): DomainError {
  return new DomainError('not_found', `There is no such ${what} in this club.`);
}
