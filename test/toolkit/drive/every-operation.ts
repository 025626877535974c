/** Builds a valid request for each operation of the contract: the path, and the body from the example. The test adds the caller. */
import { randomUUID } from 'node:crypto';
import { contractOperations, type ContractOperation, type OperationId } from '../../../contract/contract.ts';
import { contractDocument } from '../../../contract/document.ts';
import { dereference, isObject, type JsonObject } from '../../../contract/openapi.ts';
import { newId } from '../../../platform/core/ids.ts';
import type { Call } from './api.ts';

export const everyOperation = contractOperations();
export const withBody = everyOperation.filter(({ hasBody, fileBody }) => hasBody && !fileBody);

/** Names an operation in titles of tests, such as `POST /v1/auth/sign-in`. */
export const nameOf = ({ method, path }: ContractOperation) => `${method.toUpperCase()} ${path}`;

export function operationOf(operationId: OperationId): ContractOperation {
  const operation = everyOperation.find((candidate) => candidate.operationId === operationId);
  if (!operation) throw new Error(`The contract has no ${operationId}.`);
  return operation;
}

export type PathParameters = Readonly<Record<string, string | undefined>>;

/** Returns the path with these parameters. All other parameters get the ids of records that do not exist. */
export function pathOf(operation: ContractOperation, parameters: PathParameters = {}): string {
  const schemas = new Map(operation.parameters.map(({ name, schema }) => [name, schema]));
  return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = parameters[name];
    if (parameter !== undefined) return parameter;
    if (name === 'language') return 'pt-BR';
    const { format, enum: values } = (schemas.get(name) ?? {}) as { format?: string; enum?: readonly string[] };
    return format === 'uuid' ? newId() : (values?.[0] ?? 'nothing-of-this-name');
  });
}

let pointsGiven = 0;

/**
 * Replaces values of the example that a test cannot use unchanged. Ids that callers choose, addresses, names and points must be new. The
 * URL of a receiver must not need a name server, and dates must be current.
 */
const fresh: Readonly<Record<string, (example: JsonObject) => unknown>> = {
  id: () => randomUUID(),
  name: () => `Name ${newId()}`,
  points: () => (pointsGiven = (pointsGiven % 100) + 1),
  challenge: () => newId(), // the wrong tries of one challenge are limited
  email: () => `${newId()}@example.com`,
  url: () => 'https://93.184.216.34/hooks/club',
  external_id: () => newId(),
  at: () => new Date(Date.now() + 86_400_000).toISOString().slice(0, 16),
  // The beginning of a session. If the example also has an end, the beginning in the example remains.
  starts_at: (example) =>
    'ends_at' in example ? undefined : new Date((Math.ceil(Date.now() / 3_600_000) + 48) * 3_600_000).toISOString(),
  since: () => new Date(Date.now() - 86_400_000).toISOString(),
};

/** @returns the example in the contract, with an unused e-mail address; undefined if the operation accepts no body */
export function bodyOf(operation: ContractOperation): JsonObject | undefined {
  if (!operation.hasBody) return undefined;
  const example = exampleOf(operation);
  return Object.fromEntries(Object.entries(example).map(([name, value]) => [name, fresh[name]?.(example) ?? value]));
}

/** The content of a valid request: JSON, or the example of the operation's file. */
export function sentTo(operation: ContractOperation): Pick<Call, 'body' | 'raw' | 'headers'> {
  const { fileBody, path, method, operationId, parameters } = operation;
  const takes = (header: string) => parameters.some(({ in: where, name }) => where === 'header' && name === header);
  const headers = {
    ...(takes('If-Match') && { 'if-match': '*' }),
    ...(takes('Last-Event-ID') && { 'last-event-id': 'unknown' }), // so that the stream is refused, and does not stay open
  };
  if (!fileBody) return { body: bodyOf(operation), ...(Object.keys(headers).length > 0 && { headers }) };
  const media = contractDocument.paths[path]?.[method]?.requestBody?.content[fileBody.type];
  const example = isObject(media) ? media['example'] : undefined;
  if (typeof example !== 'string') throw new Error(`The body of ${operationId} has no example.`);
  return { raw: example, headers: { 'content-type': fileBody.type } };
}

/** The schema of an operation's body, with its reference resolved. */
export function bodySchemaOf(operation: ContractOperation): JsonObject {
  const schema = mediaOf(operation)['schema'];
  return isObject(schema) ? dereference(schema, contractDocument.components.schemas) : {};
}

function exampleOf(operation: ContractOperation): JsonObject {
  const media = mediaOf(operation);
  if (isObject(media['example'])) return media['example'];
  const [first] = listOf(bodySchemaOf(operation)['examples']);
  if (!isObject(first)) throw new Error(`The body of ${operation.operationId} has no example.`);
  return first;
}

function mediaOf({ path, method, operationId }: ContractOperation): JsonObject {
  const media = contractDocument.paths[path]?.[method]?.requestBody?.content['application/json'];
  if (!isObject(media)) throw new Error(`${operationId} takes no JSON.`);
  return media;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
