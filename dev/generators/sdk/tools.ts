/** The tools of the command `mcp`: each operation of API keys with its description and the schema of its input, in a compact form (SDK-11). */
import {
  dereference,
  isObject,
  isReference,
  methods,
  type ContractDocument,
  type JsonObject,
  type Method,
  type OperationObject,
  type ParameterObject,
} from '../../../contract/openapi.ts';
import { anyScope } from '../../../contract/rules/scopes.ts';

const prefix = '#/components/schemas/';

/** Fields with a credential that an answer shows once. */
const secretFields: ReadonlySet<string> = new Set(['secret', 'token']);
/** A session link makes its holder a student, so no assistant may get one (SDK-12). */
const scopesWithoutTools: ReadonlySet<string> = new Set(['sessions:write']);
/** The answer of an operation that prepares an upload. An assistant cannot send the bytes. */
const uploadSchema = 'UploadDescriptor';

/** Operations of a POST that add something, and change or remove nothing. The hint `destructiveHint` is false for them. */
const additive = /^(?:create|grant|award|tag|add|duplicate|issue|bulkGrant|bulkAward|bulkTag|dryRun|send|check)/;

/** The form of a tool in the generated file. */
const toolType = `export type ToolSchema = { readonly [word: string]: unknown };

export interface ToolDescription {
  /** The id of the operation. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly scope: string;
  readonly method: string;
  /** The operation adds something, and changes or removes nothing. */
  readonly isAdditive?: boolean;
  /** The names of the fields of the answer that are signed addresses. */
  readonly hidden?: readonly string[];
  /** The schemas of the parameters, by name, and of the body as \`body\`. */
  readonly properties: Readonly<Record<string, ToolSchema>>;
  readonly required: readonly string[];
}
`;

interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly scope: string;
  readonly method: Method;
  readonly isAdditive?: true;
  readonly hidden?: readonly string[];
  readonly properties: JsonObject;
  readonly required: readonly string[];
}

/** @returns the text of `tools.ts` @param marker the line that says that the file is generated */
export function toolsFile(document: ContractDocument, marker: string): string {
  const tools = Object.values(document.paths).flatMap((item) =>
    methods.flatMap((method) => {
      const operation = item[method];
      return operation && isTool(document, operation) ? [toolOf(document, method, operation)] : [];
    }),
  );
  const schemas = Object.entries(
    reachedBy(
      document,
      tools.map(({ properties }) => properties),
    ).schemas,
  );
  const rows = schemas
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, schema]) => `  ${name}: ${JSON.stringify(compact(schema))},`);
  return [
    marker,
    toolType,
    '/** The schemas that the tools refer to by `#/$defs/`. */',
    `export const toolSchemas: Readonly<Record<string, ToolSchema>> = {\n${rows.join('\n')}\n};`,
    '',
    '/** Every tool, in the order of the contract. */',
    `export const tools: readonly ToolDescription[] = [\n${tools.map((tool) => `  ${JSON.stringify(tool)},`).join('\n')}\n];\n`,
  ].join('\n');
}

/** A tool takes and answers JSON, and its answer has no credential and no upload. */
function isTool(document: ContractDocument, operation: OperationObject): boolean {
  const scope = operation['x-scope'];
  if (scope === undefined || scope === anyScope || scopesWithoutTools.has(scope)) return false;
  const bodies = Object.keys(operation.requestBody?.content ?? {});
  const answer = answerOf(document, operation);
  const types = Object.keys(answer);
  if ([...bodies, ...types].some((type) => type !== 'application/json')) return false;
  const { schemas, properties } = reachedBy(document, answer);
  return !(
    uploadSchema in schemas || properties.some(([name, { type }]) => secretFields.has(name) && type === 'string')
  );
}

function answerOf({ components }: ContractDocument, { responses }: OperationObject): JsonObject {
  const [, response] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
  const content = response && (isReference(response) ? dereference(response, components.responses) : response).content;
  return content ?? {};
}

function toolOf(document: ContractDocument, method: Method, operation: OperationObject): Tool {
  const { operationId: name, description, requestBody } = operation;
  const { summary } = operation as { summary?: string };
  const parameters = (operation.parameters ?? [])
    .map((one) => dereference<ParameterObject>(one, document.components.parameters))
    .filter((one) => one.name !== 'clubId' && one.name !== 'Idempotency-Key');
  const hasCursor = parameters.some((one) => one.name === 'cursor');
  const inputs = parameters.filter((one) => !(hasCursor && one.name === 'page'));
  const json = requestBody?.content['application/json'];
  const body = isObject(json) ? json['schema'] : undefined;
  const signed = reachedBy(document, answerOf(document, operation)).properties.filter(
    ([, schema]) => schema['x-signed-address'] === true,
  );
  const hidden = [...new Set(signed.map(([field]) => field))].toSorted();
  return {
    name,
    title: summary ?? name,
    description: ownText(description),
    scope: operation['x-scope'] ?? '',
    method,
    ...(method === 'post' && additive.test(name) && { isAdditive: true as const }),
    ...(hidden.length > 0 && { hidden }),
    properties: {
      ...Object.fromEntries(
        inputs.map((one) => [one.name, compact({ ...(one.schema as JsonObject), description: one.description })]),
      ),
      ...(isObject(body) && { body: compact(body) }),
    },
    required: [
      ...inputs.filter((one) => one.required).map((one) => one.name),
      ...(requestBody?.required === true ? ['body'] : []),
    ],
  };
}

/** The description that the path file has. The generator of the contract appends paragraphs about roles, scopes, repetitions and codes. */
const ownText = (description: string): string => (description.split('\n\n')[0] ?? '').trim();

interface Reached {
  /** The schemas with a name, as the contract has them. */
  readonly schemas: Record<string, JsonObject>;
  /** The properties of all schemas, with and without a name. */
  readonly properties: [name: string, schema: JsonObject][];
}

/** @returns everything that a part refers to, directly or through other schemas */
function reachedBy(
  document: ContractDocument,
  part: unknown,
  found: Reached = { schemas: {}, properties: [] },
): Reached {
  if (!isObject(part)) return found;
  const target = part['$ref'];
  if (typeof target === 'string') {
    const name = target.split('/').at(-1) ?? '';
    const schema: JsonObject | undefined = (document.components.schemas as Record<string, JsonObject>)[name];
    if (schema && !(name in found.schemas)) {
      found.schemas[name] = schema;
      reachedBy(document, schema, found);
    }
  }
  for (const [name, property] of Object.entries(part['properties'] ?? {}))
    if (isObject(property)) found.properties.push([name, property]);
  for (const [key, child] of Object.entries(part))
    if (key !== 'example' && key !== 'examples') reachedBy(document, child, found);
  return found;
}

/** @returns the schema without examples and our own words, with references to `#/$defs/` */
function compact(schema: JsonObject): JsonObject {
  const entries = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    if (value === undefined || key === 'examples' || key === 'example' || key.startsWith('x-')) return [];
    if (key === '$ref' && typeof value === 'string') return [[key, value.replace(prefix, '#/$defs/')]];
    return [[key, compactValue(value)]];
  });
  return Object.fromEntries(entries);
}

function compactValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(compactValue);
  return isObject(value) ? compact(value) : value;
}
