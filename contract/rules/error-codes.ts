/** Codes of an operation that follow from its traits. The contract's introduction states the same rules. */
import type { ErrorCode } from '../../platform/core/error-codes.ts';
import { freshFactorOf } from './fresh-factor.ts';
import * as limitedSessions from './limited-sessions.ts';
import { anyScope, scopeOf } from './scopes.ts';
import type { Method, OperationObject, ParameterObject } from '../openapi.ts';
import { idempotencyOf, type Idempotency } from './idempotency.ts';

/** The traits of an operation that decide its codes by rule. */
export interface OperationTraits {
  readonly method: Method;
  readonly hasSession: boolean;
  readonly isUnderClub: boolean;
  readonly isForAdministrators: boolean;
  readonly hasRoles: boolean;
  /** Whether a session that acts only in one club may call an operation outside of it. */
  readonly isOpenToLimitedSessions: boolean;
  /** Whether an API key needs a scope to call the operation. */
  readonly hasScope: boolean;
  /** Whether the operation may need a fresh factor. */
  readonly needsFreshFactor: boolean;
  readonly hasBody: boolean;
  /** Whether the operation is a list that takes a cursor. */
  readonly hasCursor: boolean;
  /** Whether a parameter can be invalid: a query parameter, or an id other than the club's. */
  readonly hasJudgedParameters: boolean;
  /** The effect of `Idempotency-Key`. Undefined if the operation does not take it. */
  readonly idempotency?: Idempotency | undefined;
}

/**
 * Codes that are returned before an operation is found (`method_not_allowed`, `headers_too_large`, `not_found` of an unknown path) belong
 * to no operation.
 */
const rules: readonly { readonly codes: readonly ErrorCode[]; readonly holds: (traits: OperationTraits) => boolean }[] =
  [
    { codes: ['malformed_request'], holds: () => true },
    { codes: ['unauthenticated'], holds: ({ hasSession }) => hasSession },
    { codes: ['forbidden'], holds: ({ isUnderClub }) => isUnderClub },
    { codes: ['role_not_permitted'], holds: ({ hasRoles }) => hasRoles },
    { codes: ['scope_not_granted'], holds: ({ hasScope }) => hasScope },
    {
      codes: ['club_requires_second_factor', 'club_requires_provider'],
      holds: ({ isUnderClub, isForAdministrators }) => isUnderClub && isForAdministrators,
    },
    {
      codes: ['provider_session_limited'],
      holds: ({ isForAdministrators, isUnderClub, isOpenToLimitedSessions }) =>
        isForAdministrators && !isUnderClub && !isOpenToLimitedSessions,
    },
    { codes: ['fresh_factor_required'], holds: ({ needsFreshFactor }) => needsFreshFactor },
    { codes: ['body_too_large', 'unsupported_media_type'], holds: ({ hasBody }) => hasBody },
    { codes: ['invalid_request'], holds: ({ hasBody, hasJudgedParameters }) => hasBody || hasJudgedParameters },
    {
      codes: ['request_in_progress', 'result_removed', 'idempotency_key_reused'],
      holds: ({ idempotency }) => idempotency === 'kept',
    },
    { codes: ['invalid_cursor'], holds: ({ hasCursor }) => hasCursor },
    { codes: ['rate_limited'], holds: ({ method }) => method !== 'get' },
    { codes: ['internal_error', 'busy'], holds: () => true },
  ];

/** @param parameters the parameters of the operation and of its path, without references */
export function traitsOf(
  method: Method,
  operation: OperationObject,
  parameters: readonly Pick<ParameterObject, 'name'>[],
): OperationTraits {
  return {
    method,
    hasSession: operation.security.length > 0,
    isUnderClub: parameters.some(({ name }) => name === 'clubId'),
    isForAdministrators: operation.security.some(({ admin }) => admin !== undefined),
    isOpenToLimitedSessions: limitedSessions.isOpenToLimitedSessions(operation.operationId),
    hasRoles: operation['x-roles'] !== undefined,
    hasScope: ![undefined, anyScope].includes(scopeOf(method, operation)),
    needsFreshFactor: freshFactorOf(operation.operationId) !== undefined,
    hasBody: operation.requestBody !== undefined,
    hasCursor: operation['x-pages-only'] !== true && parameters.some(({ name }) => name === 'page'),
    hasJudgedParameters: parameters.some(isJudged),
    idempotency: idempotencyOf(method, operation),
  };
}

/** @returns the codes in the order of their statuses */
export function codesByRule(traits: OperationTraits): ErrorCode[] {
  return rules.filter(({ holds }) => holds(traits)).flatMap(({ codes }) => codes);
}

/**
 * Path parameters whose form is not checked: a malformed club id gets the same 403 as an unknown club, and a malformed certificate code or
 * slug the same 404 as an unknown one.
 */
const unjudged: readonly string[] = ['clubId', 'certificateCode', 'slug'];

export function isJudged(parameter: { readonly name: string }): boolean {
  return !unjudged.includes(parameter.name);
}
