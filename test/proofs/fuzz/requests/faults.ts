/** Makes invalid versions of a valid request. Each version breaks the contract in one way. */
import type { ContractOperation } from '../../../../contract/contract.ts';
import { isObject, type JsonObject } from '../../../../contract/openapi.ts';
import type { ContractParameter } from '../../../../contract/operations.ts';
import type { ErrorCode } from '../../../../platform/core/error-codes.ts';
import { bodySchemaOf, everyOperation } from '../../../toolkit/drive/every-operation.ts';
import { isRecord, type Json, type JsonRecord, type RequestStep } from './step.ts';
import { boundsOf, numberOf, propertiesOf, requiredOf, schemaAt, type Place } from './values.ts';

const malformed = 'malformed_request' as const;
const invalid = 'invalid_request' as const;

/**
 * A copy of a value with one fault: the fault in words, the expected code, and the copy. The copy is undefined if the fault is a missing
 * property.
 */
type Broken = readonly [what: string, code: ErrorCode, value: Json | undefined];

export function faultyVersions(operation: ContractOperation, valid: RequestStep): Record<FaultyPart, RequestStep[]> {
  return {
    path: inPath(operation, valid),
    query: inQuery(operation, valid),
    body: operation.hasBody && !operation.fileBody ? inBody(operation, valid) : [],
    headers: operation.hasBody ? inHeaders(operation, valid) : [],
    method: inMethod(operation, valid),
  };
}

export type FaultyPart = 'path' | 'query' | 'body' | 'headers' | 'method';

function inPath(operation: ContractOperation, valid: RequestStep): RequestStep[] {
  const judged = operation.parameters.filter(({ in: at, name }) => at === 'path' && isJudged(name));
  return judged.flatMap(({ name, schema }) => {
    const { most } = boundsOf(schema);
    const values =
      schema.format === 'uuid'
        ? ['not-a-uuid', '00000000-0000-0000-0000-00000000000g', '{{uuid:1}}0', 'urn:uuid:{{uuid:1}}', '%', 'a\0b']
        : ['x'.repeat(most + 1), 'a\0b'];
    return values.map((value) => ({
      ...valid,
      path: { ...valid.path, [name]: value },
      fault: { what: `the path's ${name} is ${JSON.stringify(value)}`, code: invalid },
    }));
  });
}

const isJudged = (name: string) => !['clubId', 'certificateCode', 'slug'].includes(name);

function inQuery(operation: ContractOperation, valid: RequestStep): RequestStep[] {
  const parameters = operation.parameters.filter(({ in: at }) => at === 'query');
  if (valid.headers?.['accept'] === 'text/html') return []; // a request for an HTML page ignores the query
  const query = valid.query ?? [];
  const version = (what: string, code: ErrorCode, name: string, ...values: readonly string[]): RequestStep => ({
    ...valid,
    query: [...query.filter(([known]) => known !== name), ...values.map((value) => [name, value] as const)],
    fault: { what: `the query's ${name} ${what}`, code },
  });
  return [
    ...(operation.takesAnyQuery ? [] : [version('is unknown', malformed, 'unknown_parameter', '1')]),
    ...parameters.flatMap((parameter) => {
      const { name } = parameter;
      const good = query.find(([known]) => known === name)?.[1];
      return [
        ...(good === undefined ? [] : [version('is repeated', malformed, name, good, good)]),
        ...badScalars(parameter).map(([code, value]) => version(`is ${JSON.stringify(value)}`, code, name, value)),
      ];
    }),
  ];
}

/** Date-times that no request may contain: before 1970, after 2999, and a leap second. */
const badTimes = ['0000-01-01T00:00:00Z', '9999-12-31T23:59:59-23:59', '2016-12-31T23:59:60Z'];

function badScalars({ schema }: ContractParameter): (readonly [ErrorCode, string])[] {
  const { type, format } = schema;
  if (type === 'boolean') return ['yes', '1', '', 'TRUE'].map((value) => [malformed, value] as const);
  if (type === 'integer') {
    const [least, most] = [numberOf(schema, 'minimum'), numberOf(schema, 'maximum')];
    return [
      ...['', 'one', '1.0', '1e3', '0x1', ' 1', '+1', 'NaN'].map((value) => [malformed, value] as const),
      ...(least === undefined ? [] : [[invalid, String(least - 1)] as const]),
      ...(most === undefined ? [] : [[invalid, String(most + 1)] as const]),
      [invalid, '-99999999999999999999'],
    ];
  }
  if (type === 'array') return ['', 'not-a-uuid', `{{uuid:1}},{{uuid:1}}`].map((value) => [invalid, value] as const);
  const texts = ['a\0b']; // a URL cannot contain half of a surrogate pair
  if (Array.isArray(schema['enum']) || format === 'uuid' || format === 'date-time') texts.push('nothing known', '');
  if (format === 'date-time') texts.push(...badTimes);
  if (typeof schema['pattern'] === 'string') texts.push('', '\n', '2026-1', '2026-13', '0000-01', '9999-12');
  if ((numberOf(schema, 'minLength') ?? 0) > 0) texts.push('');
  const most = numberOf(schema, 'maxLength');
  if (most !== undefined) texts.push('x'.repeat(most + 1));
  return texts.map((value) => [invalid, value] as const);
}

function inBody(operation: ContractOperation, valid: RequestStep): RequestStep[] {
  const { body } = valid;
  if (!isRecord(body)) return [];
  const text = JSON.stringify(body);
  const raw = (what: string, code: ErrorCode, rawBody: string): RequestStep => {
    const { body: _, ...rest } = valid;
    return { ...rest, raw: rawBody, fault: { what: `the body ${what}`, code } };
  };
  const { body: _, ...withoutBody } = valid;
  return [
    ...(operation.requiresBody
      ? [{ ...withoutBody, fault: { what: 'the body is missing', code: malformed } }, raw('is empty', malformed, '')]
      : []),
    raw('breaks off', malformed, text.slice(0, -1)),
    raw('is nested deeply', malformed, `{"x":${'['.repeat(2_000)}${']'.repeat(2_000)}}`),
    raw('is too large', 'body_too_large', `${text}{{blanks:1048577}}`),
    ...([null, 1, 'text', true, [body]] as const).map((value) => ({
      ...valid,
      body: value,
      fault: { what: `the body is ${JSON.stringify(value).slice(0, 20)}`, code: malformed },
    })),
    ...brokenAt(bodySchemaOf(operation), body, [], operation.takesAnyText).map(([what, code, value]) => ({
      ...valid,
      body: value ?? null,
      fault: { what, code },
    })),
  ];
}

/** Returns all copies of a value that have one fault, at any depth. */
function brokenAt(schemaOrReference: JsonObject, value: Json, place: Place, anyText: boolean): Broken[] {
  const schema = branchOf(schemaAt(schemaOrReference), value);
  const here = (what: string, code: ErrorCode, broken: Json | undefined): Broken => [
    `${place.length === 0 ? 'the body' : place.join('/')} ${what}`,
    code,
    broken,
  ];
  if (isRecord(value)) return [...brokenObject(schema, value, here), ...brokenParts(schema, value, place, anyText)];
  if (Array.isArray(value)) {
    const items = value as readonly Json[];
    return [
      ...wrongTypes(schema, here),
      ...brokenArray(schema, items, here),
      ...brokenItems(schema, items, place, anyText),
    ];
  }
  return [...wrongTypes(schema, here), ...wrongValues(schema, value, here, anyText)];
}

type Here = (what: string, code: ErrorCode, broken: Json | undefined) => Broken;

function brokenObject(schema: JsonObject, value: JsonRecord, here: Here): Broken[] {
  const onlyRequired = Object.fromEntries(Object.entries(value).filter(([name]) => requiredOf(schema).includes(name)));
  const without = (name: string) => Object.fromEntries(Object.entries(value).filter(([known]) => known !== name));
  return [
    ...(schema['additionalProperties'] === false
      ? [here('has an unknown property', malformed, { ...value, unexpected: 1 })]
      : []),
    ...requiredOf(schema).map((name) => here(`lacks ${name}`, malformed, without(name))),
    ...(requiredOf(schema).length < (numberOf(schema, 'minProperties') ?? 0)
      ? [here('has too few properties', invalid, onlyRequired)]
      : []),
  ];
}

function brokenParts(schema: JsonObject, value: JsonRecord, place: Place, anyText: boolean): Broken[] {
  const properties = propertiesOf(schema);
  return Object.entries(value).flatMap(([name, part]) => {
    const property = properties[name];
    if (property === undefined) return [];
    return brokenAt(property, part, [...place, name], anyText).map(([what, code, broken]): Broken => [
      what,
      code,
      { ...value, [name]: broken ?? null },
    ]);
  });
}

function brokenArray(schema: JsonObject, value: readonly Json[], here: Here): Broken[] {
  const [least, most] = [numberOf(schema, 'minItems') ?? 0, numberOf(schema, 'maxItems')];
  const [first] = value;
  return [
    ...(least > 0 ? [here('has too few items', invalid, [])] : []),
    ...(most !== undefined && first !== undefined
      ? [
          here(
            'has too many items',
            invalid,
            Array.from({ length: most + 1 }, (_, at) => another(first, at)),
          ),
        ]
      : []),
    ...(schema['uniqueItems'] === true && first !== undefined
      ? [here('repeats an item', invalid, [first, first])]
      : []),
  ];
}

/**
 * Makes one more item, so that a list becomes too long. If the items are ids, each new id is different, because the list must break only
 * the rule about the length.
 */
const another = (item: Json, at: number): Json => (typeof item === 'string' && at > 0 ? `{{uuid:${at}}}` : item);

function brokenItems(schema: JsonObject, value: readonly Json[], place: Place, anyText: boolean): Broken[] {
  const [first, ...rest] = value;
  if (first === undefined || !isObject(schema['items'])) return [];
  return brokenAt(schema['items'], first, [...place, 0], anyText).map(([what, code, broken]): Broken => [
    what,
    code,
    [broken ?? null, ...rest],
  ]);
}

function wrongTypes(schema: JsonObject, here: Here): Broken[] {
  const type = typeof schema['type'] === 'string' ? schema['type'] : typeof schema['const'];
  const others: Readonly<Record<string, Json>> = { string: 'text', integer: 1.5, boolean: true, array: [], object: {} };
  return [
    here('is null', malformed, null),
    ...Object.entries(others)
      .filter(([name]) => name !== type || type === 'integer')
      .map(([name, value]) => here(`is of type ${name === type ? 'number' : name}`, malformed, value)),
  ];
}

function wrongValues(schema: JsonObject, value: Json, here: Here, anyText: boolean): Broken[] {
  if (typeof value === 'number') {
    const [least, most] = [numberOf(schema, 'minimum'), numberOf(schema, 'maximum')];
    return [
      ...(least === undefined
        ? []
        : [here('is too small', invalid, least - 1), here('is far too small', invalid, -1e300)]),
      ...(most === undefined
        ? []
        : [here('is too large', invalid, most + 1), here('is far too large', invalid, 1e300)]),
    ];
  }
  if (typeof value !== 'string') return [];
  const { least, most } = boundsOf(schema);
  const texts: Record<string, string> = {
    ...(least > 0 && { 'is empty': '' }),
    ...(least > 1 && { 'is too short': 'x'.repeat(least - 1) }),
    ...(numberOf(schema, 'maxLength') !== undefined && { 'is too long': `{{fill:${most + 1}}}` }),
    ...(Array.isArray(schema['enum']) && { 'is none of the values': 'nothing known' }),
    ...(typeof schema['format'] === 'string' && { [`is not of format ${schema['format']}`]: 'nothing-of-this-form' }),
    ...(schema['format'] === 'date-time' && Object.fromEntries(badTimes.map((time) => [`is ${time}`, time]))),
    ...(schema['pattern'] === '\\S' && { 'is blank': ' \t ' }),
    ...(!anyText && { 'contains a NUL byte': `${value}\0`, 'contains half of a character': `${value}\ud800` }),
  };
  return Object.entries(texts).map(([what, text]) => here(what, invalid, text));
}

/** Finds the alternative of `oneOf` to which the value belongs. The discriminator shows the alternative. */
function branchOf(schema: JsonObject, value: Json): JsonObject {
  const branches = schema['oneOf'];
  if (!Array.isArray(branches) || !isRecord(value)) return schema;
  const { propertyName = '' } = (schema['discriminator'] ?? {}) as { propertyName?: string };
  const branch = (branches as JsonObject[]).find((candidate) => {
    const chooses = propertiesOf(schemaAt(candidate))[propertyName];
    return chooses !== undefined && schemaAt(chooses)['const'] === value[propertyName];
  });
  return branch ? schemaAt(branch) : schema;
}

function inHeaders(operation: ContractOperation, valid: RequestStep): RequestStep[] {
  const types = [
    'text/plain',
    'multipart/form-data; boundary=x',
    'nonsense',
    ...(operation.fileBody ? ['application/json'] : []),
  ];
  return types.map((type) => ({
    ...valid,
    headers: { ...valid.headers, 'content-type': type },
    fault: { what: `the content type is ${type}`, code: 'unsupported_media_type' as const },
  }));
}

function inMethod(operation: ContractOperation, valid: RequestStep): RequestStep[] {
  const known = everyOperation.filter(({ path }) => path === operation.path).map(({ method }) => method);
  const others = ['get', 'post', 'put', 'patch', 'delete'].filter((method) => !known.some((one) => one === method));
  const { body: _, raw: __, headers: ___, ...bare } = valid;
  return others.map((method) => ({
    ...bare,
    method: method.toUpperCase(),
    fault: { what: `the path has no ${method.toUpperCase()}`, code: 'method_not_allowed' as const },
  }));
}
