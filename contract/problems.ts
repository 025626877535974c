/** Messages about a bad request, which name the field and never repeat its value. */
import type { ErrorObject } from 'ajv';
import { printableName } from './text.ts';

/**
 * `malformed` gets 400 (wrong JSON type, missing or unknown property, unreadable number), `invalid` gets 422 (format, enumeration, bounds,
 * pattern).
 */
export interface Problem {
  readonly kind: 'malformed' | 'invalid';
  /** A sentence without its end point that begins with the field's path: `event_types/0 must be one of …`. */
  readonly message: string;
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
};

const formatNames: Readonly<Record<string, string>> = {
  uuid: 'a UUID',
  email: 'an e-mail address',
  'date-time': 'an ISO 8601 date-time',
};

/** Messages for patterns with a meaning for people. */
const patternNames: Readonly<Record<string, string>> = {
  '\\S': 'must not be blank',
  '^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-4[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}$':
    'must be a UUID of version 4',
  '^(19[7-9]\\d|2\\d{3})-(0[1-9]|1[0-2])$': 'must be a year and a month between 1970 and 2999, such as 2026-03',
  '^(19[7-9]\\d|2\\d{3})-.{5}[Tt].{6}[0-5].*([Zz]|\\d{2}:?\\d{2})$': 'must be an ISO 8601 date-time from 1970 to 2999',
};

type Wording = (parameters: Readonly<Record<string, unknown>>) => string;

/** "1 item", "2 items". */
function count(limit: unknown, noun: string, plural = `${noun}s`): string {
  return `${String(limit)} ${limit === 1 ? noun : plural}`;
}

/** The message for each violated keyword of a schema. */
const wordings: Readonly<Record<string, Wording>> = {
  required: () => 'is missing',
  additionalProperties: () => 'is not known here',
  unevaluatedProperties: () => 'is not known here',
  type: ({ type }) => `must be ${typeNames[String(type)] ?? String(type)}`,
  enum: ({ allowedValues }) =>
    `must be one of ${Array.isArray(allowedValues) ? allowedValues.join(', ') : 'the values declared'}`,
  const: ({ allowedValue }) => `must be ${String(allowedValue)}`,
  format: ({ format }) => `must be ${formatNames[String(format)] ?? `in the format ${String(format)}`}`,
  pattern: ({ pattern }) => patternNames[String(pattern)] ?? `must match ${String(pattern)}`,
  'x-text': () => 'has a link that leads elsewhere than to an http, https or mailto address or within the site',
  minLength: ({ limit }) => `must have at least ${count(limit, 'character')}`,
  maxLength: ({ limit }) => `must have at most ${count(limit, 'character')}`,
  minItems: ({ limit }) => `must have at least ${count(limit, 'item')}`,
  maxItems: ({ limit }) => `must have at most ${count(limit, 'item')}`,
  uniqueItems: () => 'must not hold the same item twice',
  minProperties: ({ limit }) => `must have at least ${count(limit, 'property', 'properties')}`,
  minimum: ({ limit }) => `must be at least ${String(limit)}`,
  maximum: ({ limit }) => `must be at most ${String(limit)}`,
};

/**
 * @param error the first error that ajv found
 * @param kind which of the two checks found the error
 * @param root the beginning of the path: the name of a parameter, or an empty text for a body
 */
export function problemOf(error: ErrorObject, kind: Problem['kind'], root = ''): Problem {
  const parameters: Readonly<Record<string, unknown>> = error.params;
  const child = parameters['missingProperty'] ?? parameters['additionalProperty'] ?? parameters['unevaluatedProperty'];
  const steps = error.instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (typeof child === 'string') steps.push(child);
  const path = [...(root === '' ? [] : [root]), ...steps].map(printableName).join('/');
  const wording = wordings[error.keyword] ?? (() => 'is not valid');
  return { kind, message: `${path === '' ? 'the body' : path} ${wording(parameters)}` };
}
