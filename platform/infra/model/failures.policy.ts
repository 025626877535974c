/** Classifies failed requests to the model by the HTTP status or the error type of the answer. */

/**
 * The reasons why a request was not answered. A `rejected` request would be rejected again. After the other failures, a later request may
 * succeed.
 */
export type FailureKind = 'unavailable' | 'overloaded' | 'rejected' | 'silent';

/** @param status the status of the model's HTTP answer */
export function failureOfStatus(status: number): FailureKind {
  if (status === 429 || status === 529) return 'overloaded';
  const passes = status >= 500 || status === 408 || status === 409;
  return passes ? 'unavailable' : 'rejected';
}

const failuresInTheStream: ReadonlyMap<string, FailureKind> = new Map([
  ['overloaded_error', 'overloaded'],
  ['rate_limit_error', 'overloaded'],
  ['invalid_request_error', 'rejected'],
  ['authentication_error', 'rejected'],
  ['permission_error', 'rejected'],
  ['billing_error', 'rejected'],
  ['not_found_error', 'rejected'],
  ['request_too_large', 'rejected'],
]);

/** @param type the error type of an error event, in a stream whose HTTP status was 200 */
export function failureOfType(type: string): FailureKind {
  return failuresInTheStream.get(type) ?? 'unavailable';
}
