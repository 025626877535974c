/** How requests to the model fail, by the status or the error type that its service answers. */

/** What kept a request from being answered: `rejected` will not be otherwise the next time, the others may. */
export type FailureKind = 'unavailable' | 'overloaded' | 'rejected' | 'silent';

/** @param status of the model's HTTP answer */
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

/** @param type of an error event in a stream whose HTTP status was 200 */
export function failureOfType(type: string): FailureKind {
  return failuresInTheStream.get(type) ?? 'unavailable';
}
