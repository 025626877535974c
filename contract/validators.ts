/** Checks requests and responses against the contract. The checks are compiled from the bundled document. */
import { Ajv2020, type FuncKeywordDefinition, type ValidateFunction } from 'ajv/dist/2020.js';
import type { DataValidationCxt } from 'ajv/dist/types/index.js';
import addFormats from 'ajv-formats';
import { errorStatus } from '../platform/core/error-codes.ts';
import { visibleCharacter } from '../platform/core/text/text.policy.ts';
import { safeText, textKinds, type TextKind } from '../platform/core/text/written-text.ts';
import { contractDocument } from './document.ts';
import { dereference, isObject, isReference, type ContractDocument, type SchemaObject } from './openapi.ts';
import { isJudged } from './rules/error-codes.ts';
import type { ContractOperation, ContractParameter } from './operations.ts';
import { closedDocument } from './published-schemas.ts';
import { problemOf, type Problem } from './problems.ts';
import { deepestNesting, findTextFault, printableName } from './text.ts';

export type Checked<T> = { readonly value: T } | { readonly problem: Problem };
export type RawQuery = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface Validators {
  /** @returns the path parameters, with ids in lower case. `clubId` is not checked, because the membership check rejects an unknown
   * club. */
  readonly params: (raw: Readonly<Record<string, string>>) => Checked<Record<string, string>>;
  /** @returns the query parameters as integers, booleans and strings, with the contract's defaults for absent parameters */
  readonly query: (raw: RawQuery) => Checked<Record<string, unknown>>;
  /** @param raw parsed JSON; undefined without a body */
  readonly body: (raw: unknown) => Checked<unknown>;
  /**
   * For tests. @returns the difference between a response and its declaration, or undefined
   * @param body parsed JSON, or text of any other media type
   * @param type its media type, without parameters; the default is JSON
   */
  readonly response: (status: number, body: unknown, type?: string) => readonly string[];
}

const documentId = 'contract';
const json = 'application/json';
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Keywords of OpenAPI and of this contract that do not constrain a value. */
const annotations =
  'openapi info servers tags security paths webhooks components example x-codes x-extensible-enum x-signed-address x-about-student'.split(
    ' ',
  );

/** Keywords about a value of the right type: a violation gets 422. All other keywords are about the type: a violation gets 400. */
const valueRules = [
  'format',
  'enum',
  'const',
  'pattern',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
];

/** The pattern `\S` means that the text must contain a visible character. Every other pattern is used unchanged. */
const patternsOfTheContract = Object.assign(
  (pattern: string, flags: string) => (pattern === '\\S' ? visibleCharacter : new RegExp(pattern, flags)),
  { code: 'new RegExp' },
);

/** `x-text` says how a text is read (`platform/core/text/written-text.ts`). The check replaces the text by its safe form. */
const safeTexts = {
  keyword: 'x-text',
  type: 'string',
  schemaType: 'string',
  metaSchema: { enum: textKinds },
  modifying: true,
  validate: (kind: TextKind, text: string, _schema: unknown, place?: DataValidationCxt): boolean => {
    const safe = safeText(text, kind);
    if (safe === undefined || !place) return false;
    return Reflect.set(place.parentData, place.parentDataProperty, safe);
  },
} satisfies FuncKeywordDefinition;

/** Both instances stop at their first error, so that a large body with many mistakes costs no more than a valid body. */
const fullCheck = ajvOverTheContract({ changesTexts: true });
const shapeCheck = ajvOverTheContract({ ignoredRules: valueRules });

/** @param changesTexts whether the check replaces texts by their safe form, as it must for requests */
function ajvOverTheContract({
  ignoredRules = [],
  document = contractDocument,
  changesTexts = false,
}: {
  ignoredRules?: readonly string[];
  document?: ContractDocument;
  changesTexts?: boolean;
}): Ajv2020 {
  // This instance cannot be strict, because it does not know the keywords about values.
  const strict = ignoredRules.length === 0;
  const code = { regExp: patternsOfTheContract };
  const ajv = new Ajv2020({ strict, strictRequired: false, strictTypes: false, discriminator: true, code });
  addFormats.default(ajv);
  // The format of ajv-formats accepts `urn:uuid:`, which Postgres refuses.
  ajv.addFormat('uuid', uuidPattern);
  ajv.addVocabulary(annotations);
  if (changesTexts) ajv.addKeyword(safeTexts);
  else ajv.addVocabulary([safeTexts.keyword]);
  for (const rule of ignoredRules) ajv.removeKeyword(rule);
  return ajv.addSchema(document, documentId);
}

/** The instance that checks responses as closed schemas, as only tests do. It is created at the first use. */
let closedCheck: Ajv2020 | undefined;

function compiled(ajv: Ajv2020, pointer: string): ValidateFunction {
  const validate = ajv.getSchema(`${documentId}${encodeURI(pointer)}`);
  if (!validate) throw new Error(`The contract has nothing at ${pointer}.`);
  return validate;
}

/**
 * Returns the checks of one operation. Checks of requests are compiled immediately, so that a mistake in the contract stops the start.
 * Checks of responses are compiled at their first use.
 */
export function compileValidators(operation: ContractOperation): Validators {
  const inPath = operation.parameters
    .filter((parameter) => parameter.in === 'path' && isJudged(parameter))
    .map(checkOf);
  const inQuery = operation.parameters.filter((parameter) => parameter.in === 'query').map(checkOf);
  return {
    params: (raw) => checkParams(inPath, raw),
    query: (raw) => checkQuery(inQuery, raw, operation.takesAnyQuery),
    body: operation.hasBody && !operation.fileBody ? bodyCheck(operation) : (raw) => ({ value: raw }),
    response: (status, body, type = json) => responseFaults(operation, status, body, type),
  };
}

interface ParameterCheck extends ContractParameter {
  readonly validate: ValidateFunction;
}

function checkOf(parameter: ContractParameter): ParameterCheck {
  return { ...parameter, validate: compiled(fullCheck, parameter.schemaPointer) };
}

function checkParams(
  checks: readonly ParameterCheck[],
  raw: Readonly<Record<string, string>>,
): Checked<Record<string, string>> {
  const value = { ...raw };
  for (const check of checks) {
    const checked = checkParameter(check, raw[check.name] ?? '');
    if ('problem' in checked) return { problem: { ...checked.problem, kind: 'invalid' } };
    value[check.name] = String(checked.value);
  }
  return { value };
}

function checkQuery(
  checks: readonly ParameterCheck[],
  raw: RawQuery,
  takesAny: boolean,
): Checked<Record<string, unknown>> {
  const unknown = Object.keys(raw).find((name) => !checks.some((check) => check.name === name));
  if (unknown !== undefined && !takesAny) return malformed(`${printableName(unknown)} is not a known parameter`);
  const value: Record<string, unknown> = {};
  let invalid: Problem | undefined;
  for (const check of checks) {
    const rawValue = raw[check.name];
    if (rawValue === undefined) {
      if (check.required) return malformed(`${check.name} is missing`);
      if (check.schema.default !== undefined) value[check.name] = check.schema.default;
      continue;
    }
    if (typeof rawValue !== 'string') return malformed(`${check.name} must be given once`);
    const checked = checkParameter(check, rawValue);
    if ('value' in checked) value[check.name] = checked.value;
    else if (checked.problem.kind === 'malformed') return checked;
    else invalid ??= checked.problem;
  }
  return invalid ? { problem: invalid } : { value };
}

/** Parameters arrive as text. They are converted to the type of their schema, and then checked. */
function checkParameter({ name, schema, validate }: ParameterCheck, text: string): Checked<unknown> {
  if (findTextFault(text)) return unstorable(name);
  const value = readScalar(text, schema);
  if (value === undefined)
    return malformed(`${name} must be ${schema.type === 'integer' ? 'an integer' : 'true or false'}`);
  if (!validate(value) && validate.errors?.[0]) return { problem: problemOf(validate.errors[0], 'invalid', name) };
  return { value };
}

/** @returns undefined if the text is no value of the type */
function readScalar(text: string, { type, format }: SchemaObject): unknown {
  if (type === 'array') return text.toLowerCase().split(','); // a list of ids, because the contract has no other lists in a query
  if (type === 'integer') return /^-?\d+$/.test(text) ? Number(text) : undefined;
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : undefined;
  return format === 'uuid' ? text.toLowerCase() : text;
}

function bodyCheck(operation: ContractOperation): Validators['body'] {
  const pointer = `${operation.pointer}/requestBody/content/application~1json/schema`;
  const hasShape = compiled(shapeCheck, pointer);
  const isValid = compiled(fullCheck, pointer);
  return (raw) => {
    if (raw === undefined) return operation.requiresBody ? malformed('the body is missing') : { value: undefined };
    const text = findTextFault(raw);
    if (text?.fault === 'too-deep') return malformed(`${text.path} is nested deeper than ${deepestNesting} levels`);
    // An unknown discriminator chooses no alternative. Its fault is its value, which the other check reports.
    if (!hasShape(raw) && hasShape.errors?.[0] && hasShape.errors[0].keyword !== 'discriminator')
      return { problem: problemOf(hasShape.errors[0], 'malformed') };
    if (text && !operation.takesAnyText) return unstorable(text.path === '' ? 'the body' : text.path);
    if (!isValid(raw) && isValid.errors?.[0]) return { problem: problemOf(isValid.errors[0], 'invalid') };
    return { value: raw };
  };
}

function responseFaults(operation: ContractOperation, status: number, body: unknown, type: string): readonly string[] {
  const declared = operation.responses[status] ? String(status) : 'default';
  const entry = operation.responses[declared];
  if (!entry || (declared === 'default' && status < 400))
    return [`${operation.operationId} declares no response ${status}`];
  const { content = {} } = dereference(entry, contractDocument.components.responses);
  const isEmpty = body === undefined || body === '';
  if (Object.keys(content).length === 0) return isEmpty ? [] : [`${status} has no JSON body`];
  if (!(type in content)) return [`${operation.operationId} declares no ${type} with ${status}`];
  if (type !== json) return isEmpty ? [`${status} has no body`] : [];
  const pointer = isReference(entry) ? entry.$ref : `${operation.pointer}/responses/${declared}`;
  closedCheck ??= ajvOverTheContract({ document: closedDocument(contractDocument) });
  const validate = compiled(closedCheck, `${pointer}/content/application~1json/schema`);
  if (!validate(body)) return (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message ?? ''}`);
  return status < 400 ? [] : codeFaults(operation, status, body);
}

/** A code must be a code of the operation, and have the status of its table. */
function codeFaults(operation: ContractOperation, status: number, body: unknown): readonly string[] {
  const error = isObject(body) && isObject(body['error']) ? body['error'] : {};
  const code = operation.errorCodes.find((known) => known === error['code']);
  if (!code) return [`${operation.operationId} does not declare the code ${String(error['code'])}`];
  return errorStatus[code] === status ? [] : [`${code} goes with ${errorStatus[code]}, not with ${status}`];
}

function unstorable(field: string): { readonly problem: Problem } {
  return { problem: { kind: 'invalid', message: `${field} must not hold a NUL byte or half of a character` } };
}

function malformed(message: string): { readonly problem: Problem } {
  return { problem: { kind: 'malformed', message } };
}
