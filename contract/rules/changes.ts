/**
 * The changes of lists (CUR-6). A list takes `updated_since` if it has a cursor, if API keys may read it, and if its records have
 * `updated_at` or the operation has `x-lists-changes`. `x-without-updated-since` says why a list has none nevertheless.
 */
import { isObject, isReference, type OperationObject, type ParameterObject, type Reference } from '../openapi.ts';
import type { OperationTraits } from './error-codes.ts';
import { addToPage, type Responses } from './cursors.ts';

type Parameters = readonly (ParameterObject | Reference)[];

/** @param record the schema of the records, without references */
export function listsChanges(
  operation: Pick<OperationObject, 'x-lists-changes' | 'x-without-updated-since'>,
  { hasCursor, hasScope }: Pick<OperationTraits, 'hasCursor' | 'hasScope'>,
  record: unknown,
): boolean {
  const properties = isObject(record) ? record['properties'] : undefined;
  const hasUpdates = operation['x-lists-changes'] === true || (isObject(properties) && 'updated_at' in properties);
  return hasCursor && hasScope && hasUpdates && operation['x-without-updated-since'] === undefined;
}

/** @returns the parameters with the shared parameter `updated_since` before `cursor` */
export function withUpdatedSince(parameters: Parameters): Parameters {
  return parameters.flatMap((entry) =>
    isReference(entry) && entry.$ref.endsWith('/Cursor')
      ? [{ $ref: entry.$ref.replace(/Cursor$/, 'UpdatedSince') }, entry]
      : [entry],
  );
}

/** @returns the responses of a list; its page has `next_updated_since` */
export const withNextUpdatedSince = (operationId: string, responses: Responses): Responses =>
  addToPage(operationId, responses, {
    next_updated_since: { $ref: '../schemas/common.yaml#/NextUpdatedSince' },
  });

/** @returns the reference to the schema of the records of a page; undefined if the answer is no page of such records */
export function recordOfPage({ 200: page }: Responses): Reference | undefined {
  const media = page && !isReference(page) ? page.content?.['application/json'] : undefined;
  const schema = isObject(media) ? media['schema'] : undefined;
  const properties = isObject(schema) ? schema['properties'] : undefined;
  const data = isObject(properties) ? properties['data'] : undefined;
  const items = isObject(data) ? data['items'] : undefined;
  return isObject(items) && isReference(items) ? items : undefined;
}

/** @returns the sentences of an operation's description about changes */
export function describeChanges(operation: {
  'x-without-updated-since'?: string;
  'x-changes-without'?: string;
}): string[] {
  const { 'x-without-updated-since': reason, 'x-changes-without': without } = operation;
  if (reason !== undefined) return [`It takes no \`updated_since\`, because ${reason}.`];
  return without === undefined ? [] : [`For \`updated_since\`, a record does not change if only ${without}.`];
}
