/** The operations of the contract as data, which the router, the session middleware and the authorization test read. */
import { errorStatus, type ErrorCode } from '../platform/core/error-codes.ts';
import { contractDocument } from './document.ts';
import type { operations, webhooks } from './generated/types.ts';
import { freshFactorOf, type FreshFactor } from './rules/fresh-factor.ts';
import { scopeOf, type anyScope, type Scope } from './rules/scopes.ts';
import * as openapi from './openapi.ts';
import { idempotencyOf, type Idempotency } from './rules/idempotency.ts';
import type {
  CallerKind,
  Deprecation,
  Method,
  ParameterObject,
  Reference,
  ResponseObject,
  SchemaObject,
} from './openapi.ts';

const jsonType = 'application/json';

/** Every `operationId` of the contract. The events that the service sends are not operations. */
export type OperationId = Exclude<keyof operations, keyof webhooks>;

export interface ContractParameter {
  readonly name: string;
  /** The operation itself checks its headers. */
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: SchemaObject;
  /** The JSON pointer of its schema in the document. */
  readonly schemaPointer: string;
  readonly deprecation?: Deprecation;
}

/** The declaration of a body that is a file. */
export interface FileBody {
  /** The media type of the file, such as `text/csv`. */
  readonly type: string;
  /** The maximum size in bytes: `x-max-bytes`. */
  readonly maxBytes: number;
}

export interface ContractOperation {
  readonly operationId: OperationId;
  readonly method: Method;
  /** The path in the form of the contract: `/v1/clubs/{clubId}/students`. */
  readonly path: string;
  /** The path in the form of the router: `/v1/clubs/:clubId/students`. */
  readonly koaPath: string;
  /** Names of the path parameters, in the order of the path. */
  readonly pathParameters: readonly string[];
  readonly parameters: readonly ContractParameter[];
  /** The kinds of session that may call. Empty if no session is needed. */
  readonly auth: readonly CallerKind[];
  /** Roles that may call. Absent if every member of the club may call, or if roles have no meaning. */
  readonly roles?: readonly string[];
  /** The scope that an API key needs. Absent if no key may call. */
  readonly scope?: Scope | typeof anyScope;
  /** Absent if the operation needs no fresh factor. */
  readonly freshFactor?: FreshFactor;
  /** The announcement that the operation will go. */
  readonly deprecation?: Deprecation;
  readonly hasBody: boolean;
  /** Whether the operation requires a body. If so, a request without a body is malformed. */
  readonly requiresBody: boolean;
  /** The effect of `Idempotency-Key`. Absent if the operation does not take the header. */
  readonly idempotency?: Idempotency;
  /** The body is a file instead of JSON, and is read as it arrives. */
  readonly fileBody?: FileBody;
  /** The maximum size of a JSON body in bytes, if it is smaller than the service's default: `x-max-bytes`. */
  readonly maxJsonBytes?: number;
  /** The handler reads the body itself after it has identified the sender: `x-late-body`. */
  readonly readsBodyLate: boolean;
  /** Texts of the body may contain characters that cannot be stored as text: `x-any-text`. */
  readonly takesAnyText: boolean;
  /** Query parameters that the contract does not name are ignored: `x-any-query`. */
  readonly takesAnyQuery: boolean;
  readonly successStatus: number;
  /** Media types of the successful response. Empty if the response has no body. */
  readonly contentTypes: readonly string[];
  /** The operation's own codes, and the codes that follow by rule. */
  readonly errorCodes: readonly ErrorCode[];
  readonly responses: { readonly [status: string]: ResponseObject | Reference };
  /** The JSON pointer of the operation in the document. */
  readonly pointer: string;
}

/** Every operation in the order of the document. */
export function contractOperations(): ContractOperation[] {
  return Object.entries(contractDocument.paths).flatMap(([path, item]) =>
    openapi.methods.filter((method) => item[method]).map((method) => describeOperation(path, item, method)),
  );
}

function describeOperation(path: string, item: openapi.PathItem, method: Method): ContractOperation {
  const operation = item[method];
  if (!operation) throw new Error(`The contract has no ${method} ${path}.`);
  const pointer = `#/paths/${path.replaceAll('/', '~1')}/${method}`;
  const roles = operation['x-roles'];
  const scope = scopeOf(method, operation);
  const freshFactor = freshFactorOf(operation.operationId);
  const idempotency = idempotencyOf(method, operation);
  const deprecation = operation['x-deprecation'];
  const successStatus = Object.keys(operation.responses).find((status) => /^[23]/.test(status)) ?? '';
  return {
    operationId: operation.operationId,
    method,
    path,
    koaPath: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    pathParameters: [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? ''),
    parameters: describeParameters(operation.parameters, `${pointer}/parameters`),
    auth: openapi.callerKinds.filter((kind) => operation.security.some((scheme) => scheme[kind])),
    ...(roles && { roles }),
    ...(scope !== undefined && { scope }),
    ...(freshFactor && { freshFactor }),
    ...(idempotency && { idempotency }),
    ...(deprecation && { deprecation }),
    hasBody: operation.requestBody !== undefined,
    requiresBody: operation.requestBody?.required === true,
    ...describeBody(operation),
    readsBodyLate: operation['x-late-body'] === true,
    takesAnyText: operation['x-any-text'] === true,
    takesAnyQuery: operation['x-any-query'] === true,
    successStatus: Number(successStatus),
    contentTypes: Object.keys(responseOf(operation, successStatus).content ?? {}),
    errorCodes: (operation['x-error-codes'] ?? []).filter(isErrorCode),
    responses: operation.responses,
    pointer,
  };
}

function responseOf({ responses }: openapi.OperationObject, status: string): ResponseObject {
  const response = responses[status];
  return response ? openapi.dereference(response, contractDocument.components.responses) : { description: '' };
}

/** @throws Error if a body is neither JSON nor a file with a maximum size */
function describeBody({ operationId, requestBody }: openapi.OperationObject): {
  fileBody?: FileBody;
  maxJsonBytes?: number;
} {
  const [[type, media] = []] = Object.entries(requestBody?.content ?? {});
  const maxBytes = openapi.isObject(media) ? media['x-max-bytes'] : undefined;
  if (type === undefined) return {};
  if (type === jsonType) return typeof maxBytes === 'number' ? { maxJsonBytes: maxBytes } : {};
  if (typeof maxBytes !== 'number') throw new Error(`The body of ${operationId} needs x-max-bytes next to its schema.`);
  return { fileBody: { type, maxBytes } };
}

/** Returns the parameters of an operation. References to shared parameters are resolved. */
function describeParameters(list: readonly (ParameterObject | Reference)[] = [], pointer: string): ContractParameter[] {
  return list.map((entry, index) => {
    const {
      name,
      in: place,
      required = false,
      schema,
      'x-deprecation': deprecation,
    } = openapi.dereference(entry, contractDocument.components.parameters);
    return {
      name,
      in: place,
      required,
      schema: openapi.dereference<SchemaObject>(schema, contractDocument.components.schemas),
      schemaPointer: `${openapi.isReference(entry) ? entry.$ref : `${pointer}/${index}`}/schema`,
      ...(deprecation && { deprecation }),
    };
  });
}

function isErrorCode(code: string): code is ErrorCode {
  return code in errorStatus;
}
