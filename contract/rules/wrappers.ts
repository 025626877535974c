/** Success responses that follow from the name of their record. A path file writes `x-data-of` or `x-page-of` instead of the schema. */
import { isDeepStrictEqual } from 'node:util';
import { isObject, isReference, type JsonObject, type Reference, type ResponseObject } from '../openapi.ts';

const json = 'application/json';

/** The schema that replaces each extension. */
const wrappers = {
  /** One record. */
  'x-data-of': (record: Reference): JsonObject => ({
    type: 'object',
    additionalProperties: false,
    required: ['data'],
    properties: { data: record },
  }),
  /** A page of records. */
  'x-page-of': (record: Reference): JsonObject => ({
    type: 'object',
    additionalProperties: false,
    required: ['data', 'total'],
    properties: {
      data: { type: 'array', items: record, description: 'The records of this page.' },
      total: { type: 'integer', minimum: 0, description: 'Records over all pages.' },
      shortened: { $ref: '../schemas/common.yaml#/Shortened' },
    },
  }),
};

type Wrapper = keyof typeof wrappers;
const wrapperNames: readonly Wrapper[] = ['x-data-of', 'x-page-of'];

/** A response with an extension instead of its schema, as in a path file, or in the form of OpenAPI. */
export type WrittenResponse = (ResponseObject & { readonly [name in Wrapper]?: Reference }) | Reference;

/** @returns the response in the form of OpenAPI. JSON comes first, because an answer may have other media types too. */
export function unwrapped(response: WrittenResponse): ResponseObject | Reference {
  if ('$ref' in response) return response;
  const { 'x-data-of': one, 'x-page-of': page, content, ...rest } = response;
  const schema = one ? wrappers['x-data-of'](one) : page && wrappers['x-page-of'](page);
  return schema ? { ...rest, content: { [json]: { schema }, ...content } } : response;
}

/** @returns the extension that the path file should use, if it contains the schema of a response */
export function wrapperOf(response: WrittenResponse): Wrapper | undefined {
  const { content = {} } = '$ref' in response ? {} : response;
  const schema = fieldOf(content[json], 'schema');
  const data = fieldOf(fieldOf(schema, 'properties'), 'data');
  const records = [data, fieldOf(data, 'items')].filter(isRecord);
  return wrapperNames.find((name) => records.some((record) => isDeepStrictEqual(wrappers[name](record), schema)));
}

function fieldOf(part: unknown, name: string): unknown {
  return isObject(part) ? part[name] : undefined;
}

function isRecord(part: unknown): part is Reference {
  return isObject(part) && isReference(part);
}
