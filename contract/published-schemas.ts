/**
 * The published forms of the schemas (VER-4). Their sources are closed: objects list all their fields, and enumerations list all their
 * values. Requests stay closed. Responses and events are published open, so that today's clients accept the answers of later versions.
 */
import {
  dereference,
  isObject,
  isReference,
  methods,
  type ContractDocument,
  type JsonObject,
  type OperationObject,
  type PathItem,
  type ResponseObject,
} from './openapi.ts';

const prefix = '#/components/schemas/';
/** The sentence in the description of an enumeration that may grow. */
const growing = 'A later version may add values: accept those that you do not know.';

/**
 * @param document the document with closed schemas, which is changed in place:
 *   - A schema of responses or events allows fields that it does not name.
 *   - Its enumerations with `x-extensible` become strings that list the known values in `x-extensible-enum`.
 *   - A choice with `x-extensible` becomes one object with the fields of all its branches.
 *   - A schema that requests also use gets a second, closed form for them: `Role` and `RoleInput`.
 */
export function publishSchemas(document: ContractDocument): void {
  const { paths, webhooks, components } = document;
  const { schemas } = components;
  const operations = Object.values(paths).flatMap(operationsOf);
  const inRequests = [
    components.parameters,
    ...operations.flatMap(({ parameters, requestBody }) => [parameters, requestBody]),
  ];
  const inAnswers = [components.responses, webhooks, ...operations.map(({ responses }) => responses)];
  const [requested, referenced] = [namesIn(inRequests, schemas), namesIn(inAnswers, schemas)];
  // A schema that no operation references is the form of a file that callers download, so it opens like an answer.
  const files = Object.keys(schemas).filter((name) => !requested.has(name) && !referenced.has(name));
  const answered = new Set([...referenced, ...files]);
  const shared = new Set(
    [...requested].filter((name) => answered.has(name) && [name, ...namesIn([schemas[name]], schemas)].some(isOpened)),
  );
  function isOpened(name: string): boolean {
    const [open, closed] = [structuredClone(schemas[name]), structuredClone(schemas[name])];
    openUp(open);
    restrict(closed, new Set());
    return JSON.stringify(open) !== JSON.stringify(closed);
  }

  const published: [string, unknown][] = [];
  for (const [name, schema] of Object.entries(schemas)) {
    const input = structuredClone(schema);
    restrict(input, shared);
    if (answered.has(name)) openUp(schema);
    published.push([name, answered.has(name) ? schema : input]);
    if (shared.has(name)) published.push([`${name}Input`, input]);
  }
  for (const part of inRequests) restrict(part, shared);
  for (const part of inAnswers) openUp(part);
  for (const name of Object.keys(schemas)) Reflect.deleteProperty(schemas, name);
  Object.assign(schemas, Object.fromEntries(published));
}

function operationsOf(item: PathItem): OperationObject[] {
  return methods.flatMap((method) => item[method] ?? []);
}

/** @returns the names of all schemas that the parts reference, directly or indirectly */
function namesIn(parts: readonly unknown[], schemas: ContractDocument['components']['schemas']): Set<string> {
  const found = new Set<string>();
  const open = [...parts];
  while (open.length > 0) {
    const part = open.pop();
    if (!isObject(part)) continue;
    const name = nameOf(part);
    if (name !== undefined && !found.has(name)) {
      found.add(name);
      open.push(schemas[name]);
    }
    open.push(...childrenOf(part));
  }
  return found;
}

function nameOf(part: JsonObject): string | undefined {
  return isReference(part) && part.$ref.startsWith(prefix) ? part.$ref.slice(prefix.length) : undefined;
}

/** Examples are values, not schemas. */
function childrenOf(part: JsonObject): JsonObject[] {
  return Object.entries(part)
    .filter(([key]) => key !== 'examples' && key !== 'example')
    .map(([, child]) => child)
    .filter(isObject);
}

/** Keeps the schema as closed as its source. References to schemas that answers also use get the names of their closed forms. */
function restrict(part: unknown, shared: ReadonlySet<string>): void {
  if (!isObject(part)) return;
  const name = nameOf(part);
  if (name !== undefined && shared.has(name)) part['$ref'] = `${prefix}${name}Input`;
  delete part['x-extensible'];
  for (const child of childrenOf(part)) restrict(child, shared);
}

function openUp(part: unknown): void {
  if (!isObject(part)) return;
  if (part['x-extensible'] === true) widen(part);
  if (part['additionalProperties'] === false) delete part['additionalProperties'];
  if (part['unevaluatedProperties'] === false) delete part['unevaluatedProperties'];
  for (const child of childrenOf(part)) openUp(child);
}

function widen(part: JsonObject): void {
  delete part['x-extensible'];
  part['description'] = [part['description'], growing].filter(Boolean).join(' ');
  if (Array.isArray(part['enum'])) {
    part['x-extensible-enum'] = part['enum'];
    delete part['enum'];
  }
  if (!Array.isArray(part['oneOf'])) return;
  const branches = part['oneOf'].filter(isObject).map(({ properties }) => (isObject(properties) ? properties : {}));
  part['properties'] = Object.assign({}, ...branches, part['properties']);
  delete part['oneOf'];
  delete part['discriminator'];
}

/** Returns the published document with responses and events as closed as their sources. Tests use it to find undeclared fields. */
export function closedDocument(document: ContractDocument): ContractDocument {
  const closed = structuredClone(document);
  const { paths, webhooks, components } = closed;
  const bases = new Set(
    Object.values(components.schemas).flatMap(({ allOf }) =>
      Array.isArray(allOf) ? allOf.filter(isObject).map(nameOf) : [],
    ),
  );
  for (const [name, schema] of Object.entries(components.schemas)) closeDown(schema, bases.has(name));
  for (const part of [paths, webhooks, components.responses]) closeDown(part, false);
  return closed;
}

/** @param isBase other schemas add fields to it */
function closeDown(part: unknown, isBase: boolean): void {
  if (!isObject(part)) return;
  if (Array.isArray(part['x-extensible-enum'])) part['enum'] = part['x-extensible-enum'];
  if (isObject(part['properties']) && part['additionalProperties'] === undefined && !isBase) {
    if (Array.isArray(part['allOf'])) part['unevaluatedProperties'] = false;
    else if (!Array.isArray(part['oneOf'])) part['additionalProperties'] = false;
  }
  for (const child of childrenOf(part)) closeDown(child, false);
}

/**
 * Builds a success example for each JSON response without an example, from the examples of its records.
 * @throws Error if a record has no example
 */
export function exemplifyAnswers({ paths, components }: ContractDocument): void {
  for (const { responses } of Object.values(paths).flatMap(operationsOf))
    for (const [status, entry] of Object.entries(responses)) {
      if (!status.startsWith('2')) continue;
      const { content = {} } = dereference<ResponseObject>(entry, components.responses);
      for (const media of childrenOf(content)) {
        if ('example' in media || 'examples' in media || !isObject(media['schema'])) continue;
        const example = exampleOf(media['schema'], components.schemas);
        if (example !== undefined) media['example'] = example;
      }
    }
}

type Schemas = ContractDocument['components']['schemas'];

function exampleOf(schema: JsonObject, schemas: Schemas): unknown {
  const name = nameOf(schema);
  if (name !== undefined) {
    const record = schemas[name];
    const [example] = Array.isArray(record?.['examples']) ? record['examples'] : [];
    return example ?? (record && exampleOf(record, schemas));
  }
  const [first] = Array.isArray(schema['oneOf']) ? schema['oneOf'].filter(isObject) : [];
  if (first) return exampleOf(first, schemas);
  if (schema['const'] !== undefined) return schema['const'];
  if (schema['format'] === 'binary' || schema.type === 'string') return undefined;
  if (isObject(schema['items'])) return [exampleOf(schema['items'], schemas)];
  if (!isObject(schema['properties'])) return undefined;
  const fields = Object.entries(schema['properties']).filter(([, property]) => isObject(property));
  return Object.fromEntries(
    fields.map(([field, property]) => [field, field === 'total' ? 1 : exampleOf(property as JsonObject, schemas)]),
  );
}
