/** Compares two versions of a schema. Lists everything that callers of the earlier version lose. */
import { isDeepStrictEqual } from 'node:util';
import { entriesOf, isPart, listAt, listOf, partAt, resolve, shownValue, type DocumentPart } from './document-parts.ts';

/** The direction of a value: callers send it or receive it. */
export type Direction = 'sent' | 'received';

const upperBounds = ['maxLength', 'maximum', 'maxItems', 'maxProperties', 'x-max-bytes'];
const lowerBounds = ['minLength', 'minimum', 'minItems', 'minProperties'];
/** Keywords of which no value can break a caller. */
const wordsForReaders = new Set(['description', 'title', 'example', 'examples', 'deprecated', 'discriminator']);
const restrictions = ['format', 'const', 'pattern', 'uniqueItems'];
const judgedWords = new Set([
  '$ref',
  'type',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'oneOf',
  'anyOf',
  'enum',
  'default',
  ...upperBounds,
  ...lowerBounds,
  ...restrictions,
]);

export class SchemaComparison {
  /** Pairs of named schemas that are already compared. A pair is not compared again, because a schema may refer to itself. */
  private seen = new Set<string>();

  readonly earlier: object;
  readonly later: object;

  constructor(earlier: object, later: object) {
    this.earlier = earlier;
    this.later = later;
  }

  /** @param place the location of the schemas. It is not used if both schemas have names */
  compare(before: unknown, after: unknown, place: string, direction: Direction): string[] {
    if (!isPart(before)) return [];
    const [name, nameLater] = [nameOf(before), nameOf(after)];
    const at = name !== undefined && nameLater !== undefined ? name : place;
    // A reference may stand beside further keywords, and a later schema may replace a reference. So the pair has the texts of both.
    const pair = JSON.stringify([before, after, direction]);
    if ('$ref' in before && this.seen.has(pair)) return [];
    this.seen.add(pair);
    const [one, other] = [flatten(this.earlier, before), flatten(this.later, after)];
    requireKnownWords(one, at);
    requireKnownWords(other, at);
    return [
      ...brokenNotice(one, other, at),
      ...brokenValues(one, other, at, direction),
      ...(direction === 'sent' ? brokenBounds(one, other, at) : []),
      ...this.compareProperties(one, other, at, direction),
      ...this.compare(one['items'], other['items'], `${at}/items`, direction),
      ...this.compareVariants(one, other, at, direction),
    ];
  }

  private compareProperties(before: DocumentPart, after: DocumentPart, at: string, direction: Direction): string[] {
    const broken: string[] = [];
    const [required, requiredLater] = [listAt(before, 'required'), listAt(after, 'required')];
    if (direction === 'received')
      for (const property of required)
        if (!requiredLater.includes(property)) broken.push(`no longer: ${at}/${shownValue(property)} is always there`);
    if (direction === 'sent')
      for (const property of requiredLater)
        if (!required.includes(property)) broken.push(`asked now: ${at}/${shownValue(property)} is always there true`);
    const later = partAt(after, 'properties');
    for (const [property, schema] of entriesOf(before, 'properties')) {
      if (!(property in later)) broken.push(`no longer: ${at}/${property}`);
      else broken.push(...this.compare(schema, later[property], `${at}/${property}`, direction));
    }
    const [others, othersLater] = [before['additionalProperties'] ?? true, after['additionalProperties'] ?? true];
    const isAskedNow = direction === 'sent' && othersLater !== true && others !== false && !isPart(others);
    if (isAskedNow || (isPart(others) && othersLater === false))
      broken.push(`asked now: ${at} additionalProperties ${JSON.stringify(othersLater)}`);
    if (isPart(others) && isPart(othersLater))
      broken.push(...this.compare(others, othersLater, `${at}/additionalProperties`, direction));
    return broken;
  }

  /**
   * For each earlier variant, one later variant must keep all terms of the earlier variant. Otherwise returns the broken terms of the
   * closest later variant. A receiver must also know each later variant.
   */
  private compareVariants(before: DocumentPart, after: DocumentPart, at: string, direction: Direction): string[] {
    const [variants, later] = [variantsOf(before), variantsOf(after)];
    if (!variants && !later) return [];
    const withoutVariants = (schema: DocumentPart): DocumentPart => ({ ...schema, oneOf: undefined, anyOf: undefined });
    const [ones, others] = [variants ?? [withoutVariants(before)], later ?? [withoutVariants(after)]];
    const attempt = (one: unknown, other: unknown, index: number): string[] => {
      const trial = new SchemaComparison(this.earlier, this.later);
      trial.seen = new Set(this.seen);
      return trial.compare(one, other, `${at}/oneOf/${index}`, direction);
    };
    const broken = ones.flatMap((one, index) => {
      const attempts = others.map((other) => attempt(one, other, index));
      return attempts.toSorted((first, second) => first.length - second.length)[0] ?? [];
    });
    if (direction === 'received')
      for (const [index, other] of others.entries())
        if (!ones.some((one) => attempt(one, other, index).length === 0))
          broken.push(`asked now: ${at}/oneOf/${index} is known`);
    return broken;
  }
}

/** @throws Error if the schema has a keyword that the comparison does not judge, because it would then miss a break */
function requireKnownWords(schema: DocumentPart, at: string): void {
  for (const word of Object.keys(schema))
    if (!judgedWords.has(word) && !wordsForReaders.has(word) && !word.startsWith('x-'))
      throw new Error(
        `The comparison does not know the keyword ${word} of ${at}. Add it to test/releases/schema-terms.ts.`,
      );
}

/** Compares types, single values and lists of values. */
function brokenValues(before: DocumentPart, after: DocumentPart, at: string, direction: Direction): string[] {
  const broken: string[] = [];
  const [types, typesLater] = [listOf(before['type']), listOf(after['type'])];
  const [narrow, wide] = direction === 'sent' ? [types, typesLater] : [typesLater, types];
  const isWithin = wide.length === 0 || (narrow.length > 0 && narrow.every((type) => fits(type, wide)));
  if (!isWithin)
    broken.push(
      types.length > 0 ? `no longer: ${at} type ${typeText(types)}` : `asked now: ${at} type ${typeText(wide)}`,
    );
  const isChanged = (word: string) => before[word] !== undefined && !isDeepStrictEqual(before[word], after[word]);
  for (const word of direction === 'sent' ? ['default'] : ['default', 'format', 'const', 'pattern'])
    if (isChanged(word)) broken.push(`no longer: ${at} ${word} ${JSON.stringify(before[word])}`);
  for (const word of direction === 'sent' ? restrictions : [])
    if (after[word] !== undefined && !isDeepStrictEqual(before[word], after[word]))
      broken.push(`asked now: ${at} ${word} ${shownValue(after[word])}`);
  // Without a default, the description says what the absence of the value means.
  if (direction === 'sent' && before['default'] === undefined && after['default'] !== undefined)
    broken.push(`no longer: ${at} has no default`);
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
export function brokenBounds(before: DocumentPart, after: DocumentPart, at: string): string[] {
  const isNarrower = (word: string) => {
    const [bound, later] = [before[word], after[word]];
    if (typeof later !== 'number') return false;
    if (typeof bound !== 'number') return true;
    return upperBounds.includes(word) ? later < bound : later > bound;
  };
  return [...upperBounds, ...lowerBounds]
    .filter(isNarrower)
    .map((word) => `asked now: ${at} ${word} ${shownValue(after[word])}`);
}

/** Compares the days until which deprecated parts stay. A later contract may name a later day. */
export function brokenNotice(before: DocumentPart, after: DocumentPart, place: string): string[] {
  const sunsetOf = (part: DocumentPart) => partAt(part, 'x-deprecation')['sunset'];
  const [day, later] = [sunsetOf(before), sunsetOf(after)];
  const isEarlier = typeof day === 'string' && typeof later === 'string' && later < day;
  return isEarlier ? [`no longer: ${place} stays until ${day}`] : [];
}

/** @returns the name of a schema, such as `schemas/Tag`; undefined if further keywords change the named schema */
function nameOf(schema: unknown): string | undefined {
  if (!isPart(schema) || typeof schema['$ref'] !== 'string') return undefined;
  const isChanged = Object.keys(schema).some((word) => word !== '$ref' && !wordsForReaders.has(word));
  return isChanged ? undefined : schema['$ref'].slice('#/components/'.length);
}

/** Returns a schema after following its references and merging the parts of its `allOf`. */
function flatten(document: object, schema: unknown): DocumentPart {
  const { allOf, ...own } = resolve(document, schema);
  if (!Array.isArray(allOf)) return own;
  return [...(allOf as unknown[]).map((part) => flatten(document, part)), own].reduce(
    (merged, part) => ({
      ...merged,
      ...part,
      properties: { ...partAt(merged, 'properties'), ...partAt(part, 'properties') },
      required: [...new Set([...listAt(merged, 'required'), ...listAt(part, 'required')])],
    }),
    {},
  );
}

const variantsOf = (schema: DocumentPart): unknown[] | undefined =>
  (schema['oneOf'] ?? schema['anyOf']) as unknown[] | undefined;

const fits = (type: unknown, types: readonly unknown[]) =>
  types.includes(type) || (type === 'integer' && types.includes('number'));

const typeText = (types: readonly unknown[]) => JSON.stringify(types.length === 1 ? types[0] : types);
