/** The error responses of an operation, which follow from its codes. The shared responses are in contract/responses.yaml. */
import { errorStatus, type ErrorCode } from '../../platform/core/error-codes.ts';
import type { Reference } from '../openapi.ts';
import { codesByRule, type OperationTraits } from './error-codes.ts';

/** The shared response of each status. An operation has it if one of its codes has the status. */
const responseOfStatus: { readonly [status: number]: string } = {
  400: 'MalformedRequest',
  401: 'Unauthenticated',
  402: 'NotInPlan',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Gone',
  413: 'BodyTooLarge',
  415: 'UnsupportedMediaType',
  422: 'InvalidRequest',
  429: 'RateLimited',
  501: 'NotConfigured',
  503: 'RateLimitUnavailable',
};

/** Every operation has this response as `default`. It covers the codes that every operation may return when the service fails. */
const otherwise = 'Otherwise';
const codesOtherwise: ReadonlySet<ErrorCode> = new Set(['internal_error', 'busy']);

export interface ErrorResponses {
  readonly [status: string]: Reference;
}

/**
 * @param own the operation's `x-error-codes`
 * @param traits the traits from which its further codes follow
 * @returns the shared error responses of an operation by status, and `default`
 * @throws Error if a code is not in the table of error codes, or if no shared response has its status
 */
export function errorResponses(own: readonly string[], traits: OperationTraits): ErrorResponses {
  const byRule = codesByRule(traits).filter((code) => !codesOtherwise.has(code));
  const statuses = [...own, ...byRule].map(statusOf);
  return Object.fromEntries([
    ...statuses.map((status) => [status, referenceTo(responseOf(status))]),
    ['default', referenceTo(otherwise)],
  ]);
}

function statusOf(code: string): number {
  if (!isErrorCode(code)) throw new Error(`The error code ${code} is not in platform/core/error-codes.ts.`);
  return errorStatus[code];
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorStatus, code);
}

function responseOf(status: number): string {
  const name = responseOfStatus[status];
  if (name === undefined)
    throw new Error(`No shared response has the status ${status}. Add it to contract/rules/error-responses.ts.`);
  return name;
}

/** The form of a reference from contract/paths/ to a shared response. */
function referenceTo(response: string): Reference {
  return { $ref: `../responses.yaml#/${response}` };
}
