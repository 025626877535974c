/**
 * Compares two versions of the contract. Lists everything that callers of the earlier version lose. A later contract may promise callers
 * more and require less from callers. Schemas are compared by the targets of their `$ref`, not by their names.
 */
import { isDeepStrictEqual } from 'node:util';

/** The direction of a value: callers send it or receive it. */
type Direction = 'sent' | 'received';
type Json = Record<string, unknown>;

const methods = new Set(['get', 'put', 'post', 'patch', 'delete']);
const upperBounds = ['maxLength', 'maximum', 'maxItems', 'maxProperties', 'x-max-bytes'];
const lowerBounds = ['minLength', 'minimum', 'minItems', 'minProperties'];
const restrictions = ['format', 'const', 'pattern', 'uniqueItems'];

/**
 * @param earlier an OpenAPI document
 * @param later the OpenAPI document that replaces `earlier`
 * @returns a line for each broken term: `no longer: <place> …` for a lost promise, `asked now: <place> …` for a new requirement; empty if
 * nothing breaks for callers
 */
export function brokenTerms(earlier: object, later: object): string[] {
  return [...new Set([...brokenOperations(earlier, later), ...brokenWebhooks(earlier, later)])];
}

function brokenOperations(earlier: object, later: object): string[] {
  const broken: string[] = [];
  const comparison = new SchemaComparison(earlier, later);
  for (const [path, earlierItem] of entriesOf(earlier, 'paths')) {
    const laterItem = recordAt(recordAt(later, 'paths'), path);
    for (const [method, operation] of Object.entries(earlierItem as Json)) {
      if (!methods.has(method) || !isRecord(operation)) continue;
      const place = `${method} ${path}`;
      const replacement = laterItem[method];
      if (!isRecord(replacement)) {
        broken.push(`no longer: ${place}`);
        continue;
      }
      const before = withSharedParts(earlier, earlierItem as Json, operation);
      const after = withSharedParts(later, laterItem, replacement);
      broken.push(
        ...brokenNotice(before, after, place),
        ...brokenAccess(before, after, place),
        ...brokenParameters(comparison, before, after, place),
        ...brokenBody(comparison, before, after, place),
        ...brokenAnswers(comparison, before, after, place),
      );
    }
  }
  return broken;
}

/** Returns an operation together with the parameters of its path and the security of its document. */
function withSharedParts(document: object, item: Json, operation: Json): Json {
  return {
    ...operation,
    parameters: [...listAt(item, 'parameters'), ...listAt(operation, 'parameters')],
    security: operation['security'] ?? (document as Json)['security'] ?? [],
  };
}

/** Compares the days until which deprecated parts stay. A later contract may name a later day. */
function brokenNotice(before: Json, after: Json, place: string): string[] {
  const sunsetOf = (part: Json) => recordAt(part, 'x-deprecation')['sunset'];
  const [day, later] = [sunsetOf(before), sunsetOf(after)];
  const isEarlier = typeof day === 'string' && typeof later === 'string' && later < day;
  return isEarlier ? [`no longer: ${place} stays until ${day}`] : [];
}

/** Compares who may call an operation, and which error codes the operation can return. */
function brokenAccess(before: Json, after: Json, place: string): string[] {
  const broken: string[] = [];
  const alternatives = listAt(after, 'security').map((entry) => Object.keys(entry as Json));
  for (const entry of listAt(before, 'security')) {
    const schemes = Object.keys(entry as Json);
    const isMet =
      alternatives.length === 0 || alternatives.some((others) => others.every((one) => schemes.includes(one)));
    if (!isMet) broken.push(`no longer: ${place} security ${schemes.join('+')}`);
  }
  if (listAt(before, 'security').length === 0 && alternatives.length > 0 && alternatives.every((one) => one.length > 0))
    broken.push(`asked now: ${place} security ${alternatives.map((one) => one.join('+')).join(' or ')}`);
  // Without x-roles, every role may call the operation. Without x-scope, no key may call the operation.
  const roles = after['x-roles'] as unknown[] | undefined;
  if (roles && !before['x-roles']) broken.push(`asked now: ${place} x-roles ${roles.join(', ')}`);
  for (const role of roles ? listAt(before, 'x-roles') : [])
    if (!roles?.includes(role)) broken.push(`no longer: ${place} x-roles ${textOf(role)}`);
  for (const word of ['x-scope', 'x-error-codes'])
    for (const value of [before[word] ?? []].flat())
      if (![after[word] ?? []].flat().includes(value)) broken.push(`no longer: ${place} ${word} ${textOf(value)}`);
  return broken;
}

function brokenParameters(comparison: SchemaComparison, before: Json, after: Json, place: string): string[] {
  const broken: string[] = [];
  const remaining = parametersOf(comparison.later, after);
  for (const [name, parameter] of parametersOf(comparison.earlier, before)) {
    const replacement = remaining.get(name);
    remaining.delete(name);
    if (!replacement) {
      broken.push(`no longer: ${place} ${name}`);
      continue;
    }
    if (replacement['required'] === true && parameter['required'] !== true)
      broken.push(`asked now: ${place} ${name} is always there true`);
    broken.push(...brokenNotice(parameter, replacement, `${place} ${name}`));
    broken.push(...comparison.compare(parameter['schema'], replacement['schema'], `${place} ${name}`, 'sent'));
  }
  for (const [name, parameter] of remaining)
    if (parameter['required'] === true) broken.push(`asked now: ${place} ${name} is always there true`);
  return broken;
}

function parametersOf(document: object, operation: Json): Map<string, Json> {
  const parameters = listAt(operation, 'parameters').map((one) => resolve(document, one));
  return new Map(parameters.map((one) => [`${textOf(one['in'])} ${textOf(one['name'])}`, one]));
}

function brokenBody(comparison: SchemaComparison, before: Json, after: Json, place: string): string[] {
  const body = resolve(comparison.earlier, before['requestBody']);
  const replacement = resolve(comparison.later, after['requestBody']);
  const isAskedNow = replacement['required'] === true && body['required'] !== true;
  return [
    ...(isAskedNow ? [`asked now: ${place} body is always there true`] : []),
    ...brokenContents(comparison, body, replacement, `${place} body`, 'sent'),
  ];
}

function brokenAnswers(comparison: SchemaComparison, before: Json, after: Json, place: string): string[] {
  const broken: string[] = [];
  for (const [status, answer] of entriesOf(before, 'responses')) {
    const replacement = recordAt(after, 'responses')[status];
    if (replacement === undefined) {
      broken.push(`no longer: ${place} ${status}`);
      continue;
    }
    const [earlier, later] = [resolve(comparison.earlier, answer), resolve(comparison.later, replacement)];
    for (const [header] of entriesOf(earlier, 'headers'))
      if (!(header in recordAt(later, 'headers'))) broken.push(`no longer: ${place} ${status} header ${header}`);
    broken.push(...brokenContents(comparison, earlier, later, `${place} ${status}`, 'received'));
  }
  return broken;
}

function brokenContents(
  comparison: SchemaComparison,
  before: Json,
  after: Json,
  place: string,
  direction: Direction,
): string[] {
  const broken: string[] = [];
  for (const [type, content] of entriesOf(before, 'content')) {
    const replacement = recordAt(after, 'content')[type];
    const at = `${place} ${type}`;
    if (!isRecord(replacement)) {
      broken.push(`no longer: ${at}`);
      continue;
    }
    if (direction === 'sent') broken.push(...brokenBounds(content as Json, replacement, at));
    broken.push(...comparison.compare((content as Json)['schema'], replacement['schema'], at, direction));
  }
  return broken;
}

function brokenWebhooks(earlier: object, later: object): string[] {
  const comparison = new SchemaComparison(earlier, later);
  return entriesOf(earlier, 'webhooks').flatMap(([event, item]) => {
    const bodyOf = (document: object, hook: unknown) =>
      resolve(document, recordAt(isRecord(hook) ? hook : {}, 'post')['requestBody']);
    const replacement = recordAt(later, 'webhooks')[event];
    if (replacement === undefined) return [`no longer: webhook ${event}`];
    return brokenContents(
      comparison,
      bodyOf(earlier, item),
      bodyOf(later, replacement),
      `webhook ${event}`,
      'received',
    );
  });
}

class SchemaComparison {
  /** Pairs of named schemas that are already compared. A pair is not compared again, because a schema may refer to itself. */
  private seen = new Set<string>();

  readonly earlier: object;
  readonly later: object;

  constructor(earlier: object, later: object) {
    this.earlier = earlier;
    this.later = later;
  }

  /** @param place the location of the schemas. It is not used if the earlier schema has a name */
  compare(before: unknown, after: unknown, place: string, direction: Direction): string[] {
    if (!isRecord(before)) return [];
    const name = before['$ref'];
    const at = typeof name === 'string' ? name.slice('#/components/'.length) : place;
    const pair = `${at} ${textOf(isRecord(after) ? after['$ref'] : undefined)} ${direction}`;
    if (typeof name === 'string' && this.seen.has(pair)) return [];
    this.seen.add(pair);
    const [one, other] = [flatten(this.earlier, before), flatten(this.later, after)];
    return [
      ...brokenNotice(one, other, at),
      ...brokenValues(one, other, at, direction),
      ...(direction === 'sent' ? brokenBounds(one, other, at) : []),
      ...this.compareProperties(one, other, at, direction),
      ...this.compare(one['items'], other['items'], `${at}/items`, direction),
      ...this.compareVariants(one, other, at, direction),
    ];
  }

  private compareProperties(before: Json, after: Json, at: string, direction: Direction): string[] {
    const broken: string[] = [];
    const [required, requiredLater] = [listAt(before, 'required'), listAt(after, 'required')];
    if (direction === 'received')
      for (const property of required)
        if (!requiredLater.includes(property)) broken.push(`no longer: ${at}/${textOf(property)} is always there`);
    if (direction === 'sent')
      for (const property of requiredLater)
        if (!required.includes(property)) broken.push(`asked now: ${at}/${textOf(property)} is always there true`);
    const later = recordAt(after, 'properties');
    for (const [property, schema] of entriesOf(before, 'properties')) {
      if (!(property in later)) broken.push(`no longer: ${at}/${property}`);
      else broken.push(...this.compare(schema, later[property], `${at}/${property}`, direction));
    }
    const [others, othersLater] = [before['additionalProperties'] ?? true, after['additionalProperties'] ?? true];
    const isAskedNow = direction === 'sent' && othersLater !== true && others !== false && !isRecord(others);
    if (isAskedNow || (isRecord(others) && othersLater === false))
      broken.push(`asked now: ${at} additionalProperties ${JSON.stringify(othersLater)}`);
    if (isRecord(others) && isRecord(othersLater))
      broken.push(...this.compare(others, othersLater, `${at}/additionalProperties`, direction));
    return broken;
  }

  /**
   * For each earlier variant, one later variant must keep all terms of the earlier variant. Otherwise returns the broken terms of the
   * closest later variant.
   */
  private compareVariants(before: Json, after: Json, at: string, direction: Direction): string[] {
    const [variants, later] = [variantsOf(before), variantsOf(after)];
    if (!variants && !later) return [];
    const withoutVariants = (schema: Json): Json => ({ ...schema, oneOf: undefined, anyOf: undefined });
    return (variants ?? [withoutVariants(before)]).flatMap((variant, index) => {
      const attempts = (later ?? [withoutVariants(after)]).map((other) => {
        const trial = new SchemaComparison(this.earlier, this.later);
        trial.seen = new Set(this.seen);
        return trial.compare(variant, other, `${at}/oneOf/${index}`, direction);
      });
      return attempts.toSorted((one, other) => one.length - other.length)[0] ?? [`no longer: ${at}/oneOf/${index}`];
    });
  }
}

/** Compares types, single values and lists of values. */
function brokenValues(before: Json, after: Json, at: string, direction: Direction): string[] {
  const broken: string[] = [];
  const [types, typesLater] = [listOf(before['type']), listOf(after['type'])];
  const [narrow, wide] = direction === 'sent' ? [types, typesLater] : [typesLater, types];
  const isWithin = wide.length === 0 || (narrow.length > 0 && narrow.every((type) => fits(type, wide)));
  if (!isWithin)
    broken.push(
      types.length > 0 ? `no longer: ${at} type ${typeText(types)}` : `asked now: ${at} type ${typeText(wide)}`,
    );
  const isChanged = (word: string) => before[word] !== undefined && !isDeepStrictEqual(before[word], after[word]);
  for (const word of direction === 'sent' ? ['default'] : ['default', 'format', 'const'])
    if (isChanged(word)) broken.push(`no longer: ${at} ${word} ${JSON.stringify(before[word])}`);
  for (const word of direction === 'sent' ? restrictions : [])
    if (after[word] !== undefined && !isDeepStrictEqual(before[word], after[word]))
      broken.push(`asked now: ${at} ${word} ${textOf(after[word])}`);
  const [values, valuesLater] = [before['enum'], after['enum']] as (unknown[] | undefined)[];
  if (direction === 'received' && values && !isDeepStrictEqual(values, valuesLater))
    broken.push(`no longer: ${at} is one of ${JSON.stringify(values)}`);
  if (direction === 'sent' && valuesLater) {
    if (!values) broken.push(`asked now: ${at} is one of ${JSON.stringify(valuesLater)}`);
    for (const value of values ?? [])
      if (!valuesLater.includes(value)) broken.push(`no longer: ${at} accepts ${JSON.stringify(value)}`);
  }
  for (const value of listAt(before, 'x-extensible-enum'))
    if (!listAt(after, 'x-extensible-enum').includes(value))
      broken.push(`no longer: ${at} knows ${JSON.stringify(value)}`);
  return broken;
}

/** Compares the bounds of values that callers send. A later contract may widen or remove a bound. */
function brokenBounds(before: Json, after: Json, at: string): string[] {
  const isNarrower = (word: string) => {
    const [bound, later] = [before[word], after[word]];
    if (typeof later !== 'number') return false;
    if (typeof bound !== 'number') return true;
    return upperBounds.includes(word) ? later < bound : later > bound;
  };
  return [...upperBounds, ...lowerBounds]
    .filter(isNarrower)
    .map((word) => `asked now: ${at} ${word} ${textOf(after[word])}`);
}

/** Returns a schema after following its references and merging the parts of its `allOf`. */
function flatten(document: object, schema: unknown): Json {
  const { allOf, ...own } = resolve(document, schema);
  if (!Array.isArray(allOf)) return own;
  return [...(allOf as unknown[]).map((part) => flatten(document, part)), own].reduce(
    (merged, part) => ({
      ...merged,
      ...part,
      properties: { ...recordAt(merged, 'properties'), ...recordAt(part, 'properties') },
      required: [...new Set([...listAt(merged, 'required'), ...listAt(part, 'required')])],
    }),
    {},
  );
}

function resolve(document: object, value: unknown): Json {
  if (!isRecord(value)) return {};
  const name = value['$ref'];
  if (typeof name !== 'string') return value;
  const target = name
    .slice('#/'.length)
    .split('/')
    .reduce<unknown>((part, key) => (isRecord(part) ? part[key] : undefined), document);
  if (!isRecord(target)) throw new Error(`The contract has nothing at ${name}.`);
  return { ...resolve(document, target), ...value, $ref: undefined };
}

const variantsOf = (schema: Json): unknown[] | undefined =>
  (schema['oneOf'] ?? schema['anyOf']) as unknown[] | undefined;

const fits = (type: unknown, types: readonly unknown[]) =>
  types.includes(type) || (type === 'integer' && types.includes('number'));

const typeText = (types: readonly unknown[]) => JSON.stringify(types.length === 1 ? types[0] : types);

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

const listOf = (value: unknown): unknown[] => (value === undefined ? [] : [value].flat());

const listAt = (value: object, key: string): unknown[] => {
  const list = (value as Json)[key];
  return Array.isArray(list) ? list : [];
};

const recordAt = (value: object, key: string): Json => {
  const record = (value as Json)[key];
  return isRecord(record) ? record : {};
};

const entriesOf = (value: object, key: string): [string, unknown][] => Object.entries(recordAt(value, key));

const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
