/** Classifies failed requests to the model by HTTP status or error type. */

/** A `rejected` request would be rejected again. After the other failures, a later request may succeed. */
export type FailureKind = 'unavailable' | 'overloaded' | 'rejected' | 'silent';

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

/** @param type in a stream with the HTTP status 200 */
export function failureOfType(type: string): FailureKind {
  return failuresInTheStream.get(type) ?? 'unavailable';
}
