/**
 * The only type of error that callers of the API get. An error has a `code` of the contract, the status of that code, and a message for
 * people.
 */
import { errorStatus, type ErrorCode } from './error-codes.ts';

export interface ErrorHeaders {
  /** In whole seconds. */
  readonly retryAfterSeconds?: number;
  /** The path of the resource with which the request conflicts, for the header `Location`. */
  readonly location?: string;
}

/** An error for the caller (ERR-1). The message may name fields of the request, never another person's data. */
export class DomainError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly headers: ErrorHeaders;
  /** Further members of the error object in the answer, which the contract describes. */
  readonly members: Readonly<Record<string, unknown>> = {};

  constructor(code: ErrorCode, message: string, headers: ErrorHeaders = {}) {
    super(message);
    this.name = 'DomainError';
    this.code = code;
    this.status = errorStatus[code];
    this.headers = headers;
  }
}

export function notFound(what: string): DomainError {
  return new DomainError('not_found', `There is no such ${what} in this club.`);
}
