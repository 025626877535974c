/** Types for the parts of an OpenAPI document that this contract uses. */
import type { OperationId } from './operations.ts';

export const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;
export type Method = (typeof methods)[number];

/** The two kinds of session, by the names of their security schemes. Programs call with the third scheme, `apiKey` (`rules/scopes.ts`). */
export const callerKinds = ['student', 'admin'] as const;
export type CallerKind = (typeof callerKinds)[number];

export interface JsonObject {
  [key: string]: unknown;
}

export interface Reference {
  readonly $ref: string;
}

export interface SchemaObject extends JsonObject {
  readonly type?: string;
  readonly format?: string;
  readonly default?: unknown;
}

/** The announcement that a part of the contract will go (contract/rules/deprecation.ts). Days are in UTC, in the form 2027-01-31. */
export interface Deprecation {
  readonly since: string;
  /** From this day on the part may be removed. */
  readonly sunset: string;
  /** The operation, parameter or field that replaces the part. */
  readonly successor?: string;
  /** Why the part goes. Required without a successor. */
  readonly reason?: string;
  /** An https address with more about it. The API reference if absent. */
  readonly link?: string;
}

export interface ParameterObject {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: SchemaObject | Reference;
  readonly example?: unknown;
  readonly 'x-deprecation'?: Deprecation;
}

export interface ResponseObject {
  readonly description: string;
  readonly headers?: JsonObject;
  readonly content?: JsonObject;
}

export interface OperationObject {
  readonly operationId: OperationId;
  description: string;
  readonly tags: readonly string[];
  security: readonly { readonly [scheme in CallerKind | 'apiKey']?: readonly never[] }[];
  parameters?: readonly (ParameterObject | Reference)[];
  readonly requestBody?: { readonly required?: boolean; readonly content: JsonObject };
  responses: { readonly [status: string]: ResponseObject | Reference };
  readonly 'x-roles'?: readonly string[];
  /** The scope that an API key needs. The generator adds it (`rules/scopes.ts`). */
  'x-scope'?: string;
  'x-error-codes'?: readonly string[];
  /** The effect of `Idempotency-Key`, if the answer is not kept (contract/rules/idempotency.ts). */
  readonly 'x-idempotency'?: 'own' | 'repeatable';
  /** A list whose records have no lasting order: it takes no cursor. */
  readonly 'x-pages-only'?: boolean;
  /** Completes the sentence "A record changes its position when …", for a list that takes a cursor. */
  readonly 'x-moves-when'?: string;
  /** Why a list takes no `updated_since`, although its records have `updated_at`. It completes "because …". */
  readonly 'x-without-updated-since'?: string;
  /** The list takes `updated_since`, although its records have no `updated_at`. */
  readonly 'x-lists-changes'?: boolean;
  /** Names the changes of a record that `updated_since` does not show. It completes "if only …". */
  readonly 'x-changes-without'?: string;
  /** The operation will go. The generator adds `deprecated` (`rules/deprecation.ts`). */
  readonly 'x-deprecation'?: Deprecation;
  /** The body is stored unchanged, whatever its texts contain. */
  readonly 'x-any-text'?: boolean;
  /** Query parameters that are not named here are ignored. */
  readonly 'x-any-query'?: boolean;
  /** The body is read only after the path or a signature has identified the sender. */
  readonly 'x-late-body'?: boolean;
}

export type PathItem = { readonly [method in Method]?: OperationObject } & {
  parameters?: readonly (ParameterObject | Reference)[];
};

/** An entry of the table of error codes. */
export interface ErrorCodeEntry {
  readonly status: number;
  readonly meaning: string;
}

export interface ErrorCodeSchema extends SchemaObject {
  'x-codes': { readonly [code: string]: ErrorCodeEntry };
  enum?: readonly string[];
  description: string;
}

export interface ContractDocument extends JsonObject {
  readonly info: { readonly version: string };
  readonly paths: { readonly [path: string]: PathItem };
  readonly webhooks: { readonly [event: string]: { readonly post: OperationObject } };
  readonly components: {
    readonly schemas: { readonly [name: string]: SchemaObject } & { readonly ErrorCode: ErrorCodeSchema };
    readonly parameters: { [name: string]: ParameterObject };
    headers?: { [name: string]: JsonObject };
    readonly responses: { [name: string]: ResponseObject };
    readonly securitySchemes: { [name: string]: JsonObject };
  };
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null;
}

/** Resolves a reference into the named table of the document. Returns any other value unchanged. */
export function dereference<T extends object>(entry: T | Reference, table: { readonly [name: string]: T }): T {
  if (!isReference(entry)) return entry;
  const target = table[entry.$ref.slice(entry.$ref.lastIndexOf('/') + 1)];
  if (!target) throw new Error(`The contract has nothing at ${entry.$ref}.`);
  return target;
}

export function isReference(entry: object): entry is Reference {
  return '$ref' in entry;
}
