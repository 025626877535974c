/** Adds to the bundled contract everything that its tables and rules imply, so that a reader needs only the published document. */
import { signedFieldsOf } from './rules/answer-schemas.ts';
import { describeChanges } from './rules/changes.ts';
import { describeCursor } from './rules/cursors.ts';
import { completeDeprecations } from './rules/deprecation.ts';
import { codesByRule, traitsOf } from './rules/error-codes.ts';
import { freshFactorOf, type FreshFactor } from './rules/fresh-factor.ts';
import { anyScope, apiKeyScheme, scopeOf, scopes } from './rules/scopes.ts';
import {
  aboutRepetitions,
  keyParameter,
  replayHeaderObject,
  withReplayHeader,
  type Idempotency,
} from './rules/idempotency.ts';
import {
  dereference,
  isObject,
  isReference,
  methods,
  type ContractDocument,
  type ErrorCodeEntry,
  type Method,
  type OperationObject,
  type ParameterObject,
  type PathItem,
  type Reference,
  type ResponseObject,
} from './openapi.ts';

type CodeTable = { readonly [code: string]: ErrorCodeEntry };

/**
 * @param document the bundled document, which is not changed
 * @returns the document with six additions:
 *   - `ErrorCode` enumerates the codes of its table, and `ApiKeyScope` all scopes.
 *   - Each operation has all its parameters, because some readers ignore references in path items. Operations that take `Idempotency-Key` have
 *     this parameter, and the header of repeated answers.
 *   - `x-error-codes` of each operation contains its own codes and the codes that follow by rule.
 *   - An operation that API keys may call has the scheme `apiKey` and its `x-scope`.
 *   - The description of each operation names its roles, its scope, the movements of its records and its own codes. Its error responses have
 *     an example for each code.
 *   - Each deprecated part has `deprecated: true`, and a sentence about it.
 */
export function completeDocument(document: ContractDocument): ContractDocument {
  const complete = structuredClone(document);
  const errorCode = complete.components.schemas.ErrorCode;
  const codes = errorCode['x-codes'];
  errorCode.enum = Object.keys(codes);
  const { ApiKeyScope: scope } = complete.components.schemas;
  if (scope) scope['enum'] = scopes;
  complete.components.securitySchemes['apiKey'] = apiKeyScheme;
  errorCode.description = `${errorCode.description}\n\n${tableOf(Object.keys(codes), codes)}`;
  complete.components.parameters['IdempotencyKey'] = keyParameter;
  complete.components.headers = { ...complete.components.headers, IdempotentReplayed: replayHeaderObject };
  for (const item of Object.values(complete.paths)) {
    for (const method of methods) {
      const operation = item[method];
      if (operation) completeOperation(complete, item, method, operation);
    }
    delete item.parameters;
  }
  completeDeprecations(complete);
  dropUnusedResponses(complete);
  return complete;
}

/** Removes shared responses that every operation has replaced by its own examples. */
function dropUnusedResponses({ paths, components }: ContractDocument): void {
  const used = JSON.stringify(paths);
  for (const name of Object.keys(components.responses)) {
    if (!used.includes(`"#/components/responses/${name}"`)) delete components.responses[name];
  }
}

function completeOperation(
  document: ContractDocument,
  item: PathItem,
  method: Method,
  operation: OperationObject,
): void {
  const codes = document.components.schemas.ErrorCode['x-codes'];
  const own = operation['x-error-codes'] ?? [];
  const list = [...(item.parameters ?? []), ...(operation.parameters ?? [])];
  if (list.length > 0) operation.parameters = list;
  const parameters = list.map((entry) => dereference<ParameterObject>(entry, document.components.parameters));
  const traits = traitsOf(method, operation, parameters);
  const byRule = codesByRule(traits);
  if (traits.idempotency) operation.parameters = [...list, { $ref: '#/components/parameters/IdempotencyKey' }];
  const scope = scopeOf(method, operation);
  if (scope !== undefined) {
    operation.security = [...operation.security, { apiKey: [] }];
    operation['x-scope'] = scope;
  }
  operation.description = describe(document, operation, own, traits.idempotency);
  operation['x-error-codes'] = [...own, ...byRule.filter((code) => !own.includes(code))];
  operation.responses = Object.fromEntries(
    Object.entries(operation.responses).map(([status, response]) => {
      const ofStatus = (operation['x-error-codes'] ?? []).filter((code) => codes[code]?.status === Number(status));
      const isAsShared = ofStatus.every((code) => !own.includes(code)) && ofStatus.length < 2;
      if (status.startsWith('2') && traits.idempotency === 'kept') return [status, withReplayHeader(response)];
      return [status, isAsShared ? response : exemplify(document, response, ofStatus)];
    }),
  );
}

/** The shared response of a status, with an example for each code of this operation. */
function exemplify(
  document: ContractDocument,
  shared: ResponseObject | Reference,
  names: readonly string[],
): ResponseObject {
  const codes = document.components.schemas.ErrorCode['x-codes'];
  const response = isReference(shared) ? dereference(shared, document.components.responses) : shared;
  const examples = names.map((code) => [code, { value: { error: { code, message: codes[code]?.meaning } } }]);
  const content = { schema: { $ref: '#/components/schemas/Error' }, examples: Object.fromEntries(examples) };
  return { ...response, content: { ...response.content, 'application/json': content } };
}

function describe(
  { components: { schemas } }: ContractDocument,
  operation: OperationObject,
  own: readonly string[],
  idempotency: Idempotency | undefined,
): string {
  const paragraphs = [operation.description];
  const roles = operation['x-roles'];
  if (roles?.length === 0) paragraphs.push('Only API keys may call it, and no person.');
  else if (roles) paragraphs.push(`Roles: ${roles.map((role) => `\`${role}\``).join(', ')}.`);
  const scope = operation['x-scope'];
  if (scope === anyScope) paragraphs.push('Every API key may call it, whatever its scopes.');
  else if (scope !== undefined) paragraphs.push(`Scope of an API key: \`${scope}\`.`);
  const freshFactor = freshFactorOf(operation.operationId);
  if (freshFactor !== undefined) paragraphs.push(aboutFreshFactor[freshFactor]);
  const repetitions = aboutRepetitions(idempotency, signedFieldsOf(answerSchemaOf(operation), schemas));
  if (repetitions !== '') paragraphs.push(repetitions);
  paragraphs.push(...describeCursor(operation), ...describeChanges(operation));
  if (own.length > 0) paragraphs.push(`Codes of its own:\n\n${tableOf(own, schemas.ErrorCode['x-codes'])}`);
  return paragraphs.join('\n\n');
}

const aboutFreshFactor: Readonly<Record<FreshFactor, string>> = {
  always: 'Needs a factor that was shown in the last 10 minutes: else `403 fresh_factor_required`.',
  if_enrolled:
    'If the account has a second factor, it must have been shown in the last 10 minutes: else `403 fresh_factor_required`.',
};

/** @returns the schema of the successful JSON answer; undefined if there is none */
function answerSchemaOf({ responses }: OperationObject): unknown {
  const [, response] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
  const json = response && !isReference(response) ? response.content?.['application/json'] : undefined;
  return isObject(json) ? json['schema'] : undefined;
}

/** @throws Error if an operation has a code that is not in the table */
function tableOf(names: readonly string[], codes: CodeTable): string {
  const rows = names.map((name) => {
    const entry = codes[name];
    if (!entry) throw new Error(`The error code ${name} is not in contract/schemas/error.yaml.`);
    return `| \`${name}\` | ${entry.status} | ${entry.meaning} |`;
  });
  return ['| code | status | meaning |', '|---|---|---|', ...rows].join('\n');
}
