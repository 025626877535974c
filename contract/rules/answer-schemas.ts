/**
 * Reads schemas of answers that are kept for repetitions: which signed addresses they contain, and whether they can tell something about a
 * student (IDEM-5, IDEM-6).
 */
import { dereference, isObject, type JsonObject, type SchemaObject } from '../openapi.ts';

type Schemas = Readonly<Record<string, SchemaObject>>;

/** Properties that name a student or an author. Records about a student without such a property have `x-about-student`. */
const aboutStudents: ReadonlySet<string> = new Set([
  'student',
  'student_id',
  'student_name',
  'student_email',
  'author',
]);

/** @returns the names of the properties that are signed addresses (`x-signed-address`), and of lists that a repeated answer lacks because of them */
export function signedFieldsOf(schema: unknown, schemas: Schemas): string[] {
  const names = new Set<string>();
  visit(schema, schemas, (part, name, inside) => {
    if (part['x-signed-address'] !== true) return;
    names.add(inside.isRequired ? (inside.list ?? name) : name);
  });
  return [...names];
}

/** @returns whether an answer of this schema can tell something about a student */
export function canBeAboutStudent(schema: unknown, schemas: Schemas): boolean {
  let found = false;
  visit(schema, schemas, (part, name) => {
    found ||= aboutStudents.has(name) || part['x-about-student'] === true || part === schemas['Student'];
  });
  return found;
}

/** The place of a property: whether its record requires it, and the name of the list that holds the record. */
interface Place {
  isRequired: boolean;
  list: string | undefined;
}

/** Calls `look` once for each part of the schema, with the name of its property. */
function visit(
  schema: unknown,
  schemas: Schemas,
  look: (part: JsonObject, name: string, place: Place) => void,
  name = '',
  place: Place = { isRequired: false, list: undefined },
  seen = new Set<unknown>(),
): void {
  if (!isObject(schema)) return;
  const part = dereference<JsonObject>(schema, schemas);
  look(part, name, place);
  if (seen.has(part)) return;
  seen.add(part);
  for (const [property, inner] of Object.entries(propertiesOf(part)))
    visit(inner, schemas, look, property, { isRequired: isRequired(part, property), list: place.list }, seen);
  visit(part['items'], schemas, look, name, { ...place, list: name }, seen);
  visit(part['additionalProperties'], schemas, look, name, place, seen);
  for (const alternative of alternativesOf(part)) visit(alternative, schemas, look, name, place, seen);
}

/** Stands for a value that must not be kept. Its record lacks it, or is itself not kept if the record requires it. */
const dropped = Symbol('dropped');

/**
 * @returns the answer without its signed addresses. If a record requires such an address, the record is left out with the nearest optional
 *   property that holds it. So the rest is still valid by the schema.
 * @throws Error if the whole answer would be left out. A test finds such operations (test/contract/repetitions.test.ts)
 */
export function withoutSignedAddresses(answer: unknown, schema: unknown, schemas: Schemas): unknown {
  const rest = pruned(answer, schema, schemas);
  if (rest === dropped) throw new Error('The answer consists of a signed address, and cannot be kept');
  return rest;
}

function pruned(value: unknown, schema: unknown, schemas: Schemas): unknown {
  if (!isObject(schema)) return value;
  const part = dereference<JsonObject>(schema, schemas);
  if (part['x-signed-address'] === true) return dropped;
  if (Array.isArray(value)) {
    const items = (value as unknown[]).map((item) => prunedByAll(item, part, 'items', schemas));
    return items.includes(dropped) ? dropped : items;
  }
  if (!isObject(value)) return value;
  const rest: JsonObject = {};
  for (const [name, inner] of Object.entries(value)) {
    const result = prunedProperty(name, inner, part, schemas);
    if (result !== dropped) rest[name] = result;
    else if (branchesOf(part, schemas).some((branch) => isRequired(branch, name))) return dropped;
  }
  return rest;
}

function prunedProperty(name: string, value: unknown, part: JsonObject, schemas: Schemas): unknown {
  return branchesOf(part, schemas).reduce<unknown>((result, branch) => {
    if (result === dropped) return dropped;
    return pruned(result, propertiesOf(branch)[name] ?? branch['additionalProperties'], schemas);
  }, value);
}

function prunedByAll(value: unknown, part: JsonObject, keyword: 'items', schemas: Schemas): unknown {
  return branchesOf(part, schemas).reduce<unknown>(
    (result, branch) => (result === dropped ? dropped : pruned(result, branch[keyword], schemas)),
    value,
  );
}

/** @returns the schema itself, and all schemas that it combines */
function branchesOf(part: JsonObject, schemas: Schemas): JsonObject[] {
  return [
    part,
    ...alternativesOf(part).flatMap((inner) => branchesOf(dereference<JsonObject>(inner, schemas), schemas)),
  ];
}

function alternativesOf(part: JsonObject): JsonObject[] {
  return ['allOf', 'oneOf', 'anyOf'].flatMap((keyword) => {
    const list = part[keyword];
    return Array.isArray(list) ? list.filter(isObject) : [];
  });
}

function propertiesOf({ properties }: JsonObject): JsonObject {
  return isObject(properties) ? properties : {};
}

function isRequired({ required }: JsonObject, name: string): boolean {
  return Array.isArray(required) && required.includes(name);
}
