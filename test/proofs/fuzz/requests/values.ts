/** Generates values that a JSON Schema of the contract allows. */
import fc from 'fast-check';
import { contractDocument } from '../../../../contract/document.ts';
import { dereference, isObject, type JsonObject } from '../../../../contract/openapi.ts';
import type { Draw } from './draw.ts';
import type { Json, JsonRecord } from './step.ts';
import { patternedText, textOf, type Bounds } from './texts.ts';

/**
 * The path to a value in the body: names of properties, and positions in lists. For a parameter, the name of the parameter.
 */
export type Place = readonly (string | number)[];

/** Suggests a value instead of a generated value; undefined for no suggestion. */
export type Suggest = (place: Place, schema: JsonObject) => Json | undefined;

/** The depth at which recursive schemas end, such as steps in steps. */
const deepest = 8;

const nothing: Suggest = () => undefined;

export function valueOf(
  draw: Draw,
  schemaOrReference: JsonObject,
  suggest: Suggest = nothing,
  place: Place = [],
): Json {
  const schema = schemaAt(schemaOrReference);
  const suggested = suggest(place, schema);
  if (suggested !== undefined) return suggested;
  if ('const' in schema) return schema['const'] as Json;
  if (Array.isArray(schema['enum'])) return draw.pick(schema['enum']) as Json;
  if (Array.isArray(schema['oneOf'])) return valueOf(draw, draw.pick(schema['oneOf']) as JsonObject, suggest, place);
  switch (schema['type']) {
    case 'object':
      return objectOf(draw, schema, suggest, place);
    case 'array':
      return arrayOf(draw, schema, suggest, place);
    case 'string':
      return stringOf(draw, schema);
    case 'integer':
    case 'number':
      return integerOf(draw, schema);
    case 'boolean':
      return draw.chance(0.5);
    default:
      throw new Error(`values.ts cannot generate a value for ${JSON.stringify(schema)}: add a case`);
  }
}

export function schemaAt(schemaOrReference: JsonObject): JsonObject {
  return dereference(schemaOrReference, contractDocument.components.schemas);
}

export function propertiesOf(schema: JsonObject): Readonly<Record<string, JsonObject>> {
  return (isObject(schema['properties']) ? schema['properties'] : {}) as Record<string, JsonObject>;
}

export function requiredOf(schema: JsonObject): readonly string[] {
  return Array.isArray(schema['required']) ? schema['required'].map(String) : [];
}

export const numberOf = (schema: JsonObject, name: string): number | undefined =>
  typeof schema[name] === 'number' ? schema[name] : undefined;

function objectOf(draw: Draw, schema: JsonObject, suggest: Suggest, place: Place): JsonRecord {
  const properties = Object.entries(propertiesOf(schema));
  const required = requiredOf(schema);
  const share = draw.weighted([
    [2, 0],
    [5, 0.5],
    [3, 1],
  ]);
  const chosen = properties.filter(
    ([name]) => required.includes(name) || (place.length < deepest && draw.chance(share)),
  );
  if (chosen.length < (numberOf(schema, 'minProperties') ?? 0)) chosen.push(draw.pick(properties));
  return Object.fromEntries(
    chosen.map(([name, property]) => [name, valueOf(draw, property, suggest, [...place, name])]),
  );
}

function arrayOf(draw: Draw, schema: JsonObject, suggest: Suggest, place: Place): Json[] {
  const least = numberOf(schema, 'minItems') ?? 0;
  const most = place.length < deepest ? (numberOf(schema, 'maxItems') ?? 10) : least;
  const count = Math.min(
    most,
    draw.weighted([
      [2, least],
      [7, Math.max(least, draw.between(1, 3))],
      [1, Math.min(most, 30)],
    ]),
  );
  const items = schema['items'] as JsonObject;
  const values = Array.from({ length: count }, (_, position) => valueOf(draw, items, suggest, [...place, position]));
  const [first] = values;
  // The same UUID in small and capital letters counts as two items in JSON Schema.
  if (values.length < most && typeof first === 'string' && schemaAt(items).format === 'uuid' && draw.chance(0.1))
    values.push(first.startsWith('{{') && !first.startsWith('{{upper:') ? `{{upper:${first.slice(2, -2)}}}` : first);
  if (schema['uniqueItems'] !== true) return values;
  const distinct = new Map(values.map((value) => [JSON.stringify(value), value]));
  return [...distinct.values()];
}

export function boundsOf(schema: JsonObject): Bounds {
  return { least: numberOf(schema, 'minLength') ?? 0, most: numberOf(schema, 'maxLength') ?? 200 };
}

function stringOf(draw: Draw, schema: JsonObject): string {
  const { format, pattern } = schema as { format?: string; pattern?: string };
  if (format === 'uuid') return `{{uuid:${draw.below(1e6)}}}`;
  if (format === 'email') return emailOf(draw);
  if (format === 'date-time') return instantOf(draw);
  if (pattern !== undefined) return patternedText(draw, pattern, boundsOf(schema));
  return textOf(draw, boundsOf(schema));
}

function emailOf(draw: Draw): string {
  const usual = `fuzz-${draw.below(1e6)}@{{salt}}.example.com`;
  return draw.weighted<() => string>([
    [80, () => usual],
    [8, () => draw.sample(fc.emailAddress())],
    [4, () => `${'l'.repeat(64)}@${'d'.repeat(63)}.${'d'.repeat(63)}.example.com`],
    [4, () => `Fuzz.Upper+${draw.below(100)}@{{salt}}.EXAMPLE.com`],
    [4, () => `o'neil_%-\`{}|~${draw.below(100)}@{{salt}}.example.com`],
  ])();
}

function instantOf(draw: Draw): string {
  const day = 86_400;
  return draw.weighted([
    [40, `{{now:${draw.between(-2 * day, 2 * day)}}}`],
    [25, `{{now:${draw.between(-400 * day, 400 * day)}}}`],
    [
      10,
      draw.pick([
        '1970-01-01T00:00:00Z',
        '1970-01-01T00:00:00+23:59',
        '2999-12-31T23:59:59.999Z',
        '2999-12-31T23:59:59-23:59',
        '2026-02-28T23:59:59.999999999Z',
        '2024-02-29t12:00:00z',
        '2026-03-29T02:30:00+01:00',
      ]),
    ],
  ]);
}

function integerOf(draw: Draw, schema: JsonObject): number {
  const largest = schema['format'] === 'int32' ? 2 ** 31 - 1 : Number.MAX_SAFE_INTEGER;
  const least = numberOf(schema, 'minimum') ?? -largest;
  const most = numberOf(schema, 'maximum') ?? largest;
  const within = (value: number) => Math.min(most, Math.max(least, value));
  return draw.weighted([
    [5, within(draw.between(0, 20))],
    [3, draw.between(least, most)],
    [1, least],
    [1, most],
    [1, within(0)],
  ]);
}
