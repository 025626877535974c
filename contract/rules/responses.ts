/**
 * The responses of an operation: the responses of its path file, and the responses that follow from a rule. No path file repeats a response
 * of a rule.
 */
import type { OperationObject, Reference, ResponseObject } from '../openapi.ts';
import type { OperationTraits } from './error-codes.ts';
import { withNextCursor } from './cursors.ts';
import { errorResponses, type ErrorResponses } from './error-responses.ts';
import { unwrapped, wrapperOf, type WrittenResponse } from './wrappers.ts';

/**
 * @param operation the responses of the path file
 * @param traits the traits from which its codes follow
 * @returns the responses in the form of OpenAPI
 * @throws Error if a code of the operation is unknown, or if the path file has a response that follows from a rule, or a response without a
 * code, or if a list with a cursor has no page
 */
export function completeResponses(
  operation: OperationObject,
  traits: OperationTraits,
): { readonly [status: string]: ResponseObject | Reference } {
  const { operationId, responses: written } = operation;
  const byRule = errorResponses(operation['x-error-codes'] ?? [], traits);
  for (const [status, response] of Object.entries(written)) requireOwn(operationId, status, response, byRule);
  const own = Object.entries(written).map(([status, response]) => [status, unwrapped(response)]);
  const responses = { ...byRule, ...Object.fromEntries(own) };
  return traits.hasCursor ? withNextCursor(operationId, responses) : responses;
}

function requireOwn(operationId: string, status: string, response: WrittenResponse, byRule: ErrorResponses): void {
  if ('$ref' in response && response.$ref === byRule[status]?.$ref)
    throw new Error(`${operationId}: the response ${status} follows from a rule. Remove it from the path file.`);
  const wrapper = wrapperOf(response);
  if (wrapper !== undefined)
    throw new Error(`${operationId}: the path file contains the schema of ${status}. Write ${wrapper} instead.`);
  if (!/^[23]/.test(status) && !(status in byRule))
    throw new Error(`${operationId} has a response ${status}, and no code with this status in x-error-codes.`);
}
