/** How the model's service refuses a request, before a stream or within it: statuses and error types. */

/** The provider's documentation has these types in its chapter "Errors". */
export const errorTypes = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  529: 'overloaded_error',
} as const;

export type RefusalStatus = keyof typeof errorTypes;

export class Refusal extends Error {
  readonly status: RefusalStatus;

  constructor(status: RefusalStatus, message: string) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
  }
}

/** @returns the body of an error response or of an `error` event */
export function errorBody(type: string, message: string, requestId: string) {
  return { type: 'error', error: { type, message }, request_id: requestId };
}
