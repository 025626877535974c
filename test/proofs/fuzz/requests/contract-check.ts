/** Checks whether the contract allows a request. It uses only the schemas, and not the request checks of the service. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { ContractOperation } from '../../../../contract/contract.ts';
import { contractDocument } from '../../../../contract/document.ts';
import type { ContractParameter } from '../../../../contract/operations.ts';
import type { RequestStep } from './step.ts';

const ajv = new Ajv2020({ strict: false, discriminator: true });
addFormats.default(ajv);
ajv.addSchema(contractDocument, 'contract');

/** The contract does not validate these parameters. If the API does not know a value, it answers that the record does not exist. */
const unjudged: readonly string[] = ['clubId', 'certificateCode', 'slug'];

/**
 * @param step the request, after its templates were replaced
 * @returns the violations of the contract, in words; empty for a valid request
 */
export function faultsOf(operation: ContractOperation, step: RequestStep): string[] {
  const { path, query = [], body } = step;
  const inPath = operation.parameters.filter(
    ({ in: location, name }) => location === 'path' && !unjudged.includes(name),
  );
  const inQuery = operation.parameters.filter(({ in: location }) => location === 'query');
  const names = query.map(([name]) => name);
  return [
    ...inPath.flatMap((parameter) => parameterFaults(parameter, path[parameter.name] ?? '')),
    ...inQuery.flatMap((parameter) =>
      query.filter(([name]) => name === parameter.name).flatMap(([, value]) => parameterFaults(parameter, value)),
    ),
    ...inQuery
      .filter(({ name, required }) => required && !names.includes(name))
      .map(({ name }) => `${name} is missing`),
    ...names
      .filter((name) => !operation.takesAnyQuery && !inQuery.some((known) => known.name === name))
      .map((name) => `${name} is unknown`),
    ...names.filter((name, at) => names.indexOf(name) !== at).map((name) => `${name} is repeated`),
    ...textFaults(operation, step),
    ...(operation.hasBody && !operation.fileBody && step.raw === undefined ? bodyFaults(operation, body) : []),
  ];
}

function bodyFaults({ pointer, requiresBody }: ContractOperation, body: RequestStep['body']): string[] {
  if (body === undefined) return requiresBody ? ['the body is missing'] : [];
  return broken(`${pointer}/requestBody/content/application~1json/schema`, body);
}

function parameterFaults({ name, schema, schemaPointer }: ContractParameter, text: string): string[] {
  const value = scalarOf(schema.type, text);
  if (value === undefined) return [`${name} is no ${schema.type}`];
  return broken(schemaPointer, value).map((fault) => `${name} ${fault}`);
}

/** Parses the text of a parameter as a value of this type. Returns undefined if the text is no value of the type. */
function scalarOf(type: string | undefined, text: string): unknown {
  if (type === 'integer') return /^-?\d+$/.test(text) ? Number(text) : undefined;
  if (type === 'boolean') return { true: true, false: false }[text];
  return type === 'array' ? text.split(',') : text;
}

/**
 * Checks that no text contains a NUL byte or a lone surrogate, as the introduction of the contract requires. The body of an operation that
 * accepts any text is not checked.
 */
function textFaults({ takesAnyText }: ContractOperation, { path, query, body }: RequestStep): string[] {
  const texts = JSON.stringify([path, query, takesAnyText ? undefined : body]);
  return /\\u0000|\\ud[89a-f]/i.test(texts.replaceAll('\\\\', ''))
    ? ['a text contains a character that cannot be stored']
    : [];
}

function broken(pointer: string, value: unknown): string[] {
  const validate: ValidateFunction | undefined = ajv.getSchema(`contract${encodeURI(pointer)}`);
  if (!validate) throw new Error(`The contract has no schema at ${pointer}`);
  return validate(value)
    ? []
    : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
