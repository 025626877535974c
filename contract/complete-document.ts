/** Adds to the bundled contract everything that its tables and rules imply, so that a reader needs only the published document. */
import { describeCursor } from './rules/cursors.ts';
import { codesByRule, traitsOf } from './rules/error-codes.ts';
import {
  dereference,
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
 * @returns the document with four additions:
 *   - `ErrorCode` enumerates the codes of its table.
 *   - Each operation has all its parameters, because some readers ignore references in path items.
 *   - `x-error-codes` of each operation contains its own codes and the codes that follow by rule.
 *   - The description of each operation names its roles, the movements of its records and its own codes, and its error responses have an example for each code.
 */
export function completeDocument(document: ContractDocument): ContractDocument {
  const complete = structuredClone(document);
  const errorCode = complete.components.schemas.ErrorCode;
  const codes = errorCode['x-codes'];
  errorCode.enum = Object.keys(codes);
  errorCode.description = `${errorCode.description}\n\n${tableOf(Object.keys(codes), codes)}`;
  for (const item of Object.values(complete.paths)) {
    for (const method of methods) {
      const operation = item[method];
      if (operation) completeOperation(complete, item, method, operation);
    }
    delete item.parameters;
  }
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
  const byRule = codesByRule(traitsOf(method, operation, parameters));
  operation.description = describe(operation, own, codes);
  operation['x-error-codes'] = [...own, ...byRule.filter((code) => !own.includes(code))];
  operation.responses = Object.fromEntries(
    Object.entries(operation.responses).map(([status, response]) => {
      const ofStatus = (operation['x-error-codes'] ?? []).filter((code) => codes[code]?.status === Number(status));
      const isAsShared = ofStatus.every((code) => !own.includes(code)) && ofStatus.length < 2;
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

function describe(operation: OperationObject, own: readonly string[], codes: CodeTable): string {
  const paragraphs = [operation.description];
  const roles = operation['x-roles'];
  if (roles) paragraphs.push(`Roles: ${roles.map((role) => `\`${role}\``).join(', ')}.`);
  paragraphs.push(...describeCursor(operation));
  if (own.length > 0) paragraphs.push(`Codes of its own:\n\n${tableOf(own, codes)}`);
  return paragraphs.join('\n\n');
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
