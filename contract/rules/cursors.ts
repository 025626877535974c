/** The cursors of lists (CUR-1). A list with `page` takes `cursor` too, unless its path file says `x-pages-only`. */
import {
  isObject,
  isReference,
  type JsonObject,
  type ParameterObject,
  type Reference,
  type ResponseObject,
} from '../openapi.ts';

const json = 'application/json';
type Parameters = readonly (ParameterObject | Reference)[];

/** @returns the parameters of a path file with the shared parameter `cursor` after `page` */
export function withCursor(parameters: Parameters): Parameters {
  return parameters.flatMap((entry) =>
    isReference(entry) && entry.$ref.endsWith('/Page')
      ? [entry, { $ref: entry.$ref.replace(/Page$/, 'Cursor') }]
      : [entry],
  );
}

export type Responses = { readonly [status: string]: ResponseObject | Reference };

/**
 * @returns the responses of a list; its page has `next_cursor`
 * @throws Error if the answer of the list is not a page
 */
export const withNextCursor = (operationId: string, responses: Responses): Responses =>
  addToPage(operationId, responses, { next_cursor: { $ref: '../schemas/common.yaml#/NextCursor' } });

/**
 * @returns the responses of a list; its page has more properties
 * @throws Error if the answer of the list is not a page
 */
export function addToPage(operationId: string, responses: Responses, added: JsonObject): Responses {
  const { 200: page } = responses;
  const media = page && !isReference(page) ? page.content?.[json] : undefined;
  const schema = isObject(media) ? media['schema'] : undefined;
  const properties = isObject(schema) ? schema['properties'] : undefined;
  if (!page || !isObject(media) || !isObject(schema) || !isObject(properties) || !properties['total'])
    throw new Error(`${operationId} takes a page, and its answer has no total. Write x-pages-only if it is no list.`);
  const content = { [json]: { ...media, schema: { ...schema, properties: { ...properties, ...added } } } };
  return { ...responses, 200: { ...page, content } };
}

/** @returns the sentences of an operation's description about cursors */
export function describeCursor(operation: { 'x-pages-only'?: boolean; 'x-moves-when'?: string }): string[] {
  const { 'x-pages-only': pagesOnly, 'x-moves-when': reason } = operation;
  if (pagesOnly) return ['It has pages only, and takes no `cursor`.'];
  if (reason === undefined) return [];
  return [
    `A record changes its position when ${reason}. For a caller that goes on by \`cursor\`, such a record may appear twice or not at all.`,
  ];
}
